// The kernel that sums slices of K, for the emulator.
#include "hopper_gemm/kernel/add_slices.h"
#include "split_k.h"

namespace hopper_gemm::emulated {

EmulatedFunction add_slices_function(OutputOrder order) {
  if (order == OutputOrder::row_major) return &add_slices_kernel<SliceSum<OutputOrder::row_major>>;
  return &add_slices_kernel<SliceSum<OutputOrder::column_major>>;
}

}  // namespace hopper_gemm::emulated
