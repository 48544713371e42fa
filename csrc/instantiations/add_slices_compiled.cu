// The kernels that sum slices of K, for the GPU.
#include "hopper_gemm/kernel/add_slices.h"
#include "split_k.h"

namespace hopper_gemm::compiled {

const void* add_slices_function(OutputOrder order, int index) {
  return with_slice_sum(order, index, []<class Sum>(Sum) { return reinterpret_cast<const void*>(&add_slices_kernel<Sum>); });
}

}  // namespace hopper_gemm::compiled
