// The kernel that sums slices of K, for the GPU.
#include "hopper_gemm/kernel/add_slices.h"
#include "split_k.h"

namespace hopper_gemm::compiled {

const void* add_slices_function(OutputOrder order) {
  if (order == OutputOrder::row_major) return reinterpret_cast<const void*>(&add_slices_kernel<SliceSum<OutputOrder::row_major>>);
  return reinterpret_cast<const void*>(&add_slices_kernel<SliceSum<OutputOrder::column_major>>);
}

}  // namespace hopper_gemm::compiled
