// The kernels that sum slices of K, for the emulator.
#include "hopper_gemm/kernel/add_slices.h"
#include "split_k.h"

namespace hopper_gemm::emulated {

EmulatedFunction add_slices_function(OutputOrder order, int index) {
  return with_slice_sum(order, index, []<class Sum>(Sum) -> EmulatedFunction { return &add_slices_kernel<Sum>; });
}

}  // namespace hopper_gemm::emulated
