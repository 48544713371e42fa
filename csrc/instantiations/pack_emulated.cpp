// The packing kernel for the emulator.
#include "hopper_gemm/kernel/pack.h"
#include "pack.h"

namespace hopper_gemm::emulated {

PackFunction pack_function(int element_bytes) {
  switch (element_bytes) {
    case 1: return &pack_kernel<1>;
    case 2: return &pack_kernel<2>;
    default: return &pack_kernel<4>;
  }
}

}  // namespace hopper_gemm::emulated
