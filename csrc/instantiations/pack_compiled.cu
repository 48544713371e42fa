// The packing kernel for the GPU, one instantiation for each size of an element.
#include "hopper_gemm/kernel/pack.h"
#include "pack.h"

namespace hopper_gemm::compiled {

const void* pack_function(int element_bytes) {
  switch (element_bytes) {
    case 1: return reinterpret_cast<const void*>(&pack_kernel<1>);
    case 2: return reinterpret_cast<const void*>(&pack_kernel<2>);
    default: return reinterpret_cast<const void*>(&pack_kernel<4>);
  }
}

}  // namespace hopper_gemm::compiled
