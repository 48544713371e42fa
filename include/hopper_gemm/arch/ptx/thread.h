// Thread identity, warp-uniform values and the register pool (PTX ISA: special registers, elect.sync, setmaxnreg).
#pragma once
#include <cstdint>

#include "hopper_gemm/arch/wait_point.h"

#define HG_DEVICE __device__ __forceinline__
#define HG_KERNEL(threads) __global__ void __launch_bounds__(threads, 1)
#define HG_KERNEL_RESIDENT(threads, ctas) __global__ void __launch_bounds__(threads, ctas)
#define HG_PARAM(T) const __grid_constant__ T
#define HG_UNROLL _Pragma("unroll")
#define HG_UNROLL_4 _Pragma("unroll 4")
#define HG_NO_UNROLL _Pragma("unroll 1")

namespace hopper_gemm::arch {

HG_DEVICE uint32_t thread_index() { return threadIdx.x; }
HG_DEVICE uint32_t block_index() { return blockIdx.x; }
HG_DEVICE uint32_t grid_size() { return gridDim.x; }

// The dynamic shared memory of this CTA, aligned to the 1024-byte period of the 128-byte swizzle.
template <class T>
HG_DEVICE T& dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char hopper_gemm_shared[];
  return *reinterpret_cast<T*>(hopper_gemm_shared);
}

HG_DEVICE uint32_t shared_address(const void* pointer) { return static_cast<uint32_t>(__cvta_generic_to_shared(pointer)); }

// The value of lane 0, which the compiler then knows to be the same in the whole warp.
HG_DEVICE uint32_t warp_uniform(uint32_t value) { return __shfl_sync(0xffffffffu, value, 0); }

// The same value, of which the compiler knows nothing: what depends on it is not computed earlier than here.
HG_DEVICE uint32_t opaque(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

// In a branch: it stays one. Otherwise a short side is computed for both outcomes, and chosen from.
HG_DEVICE void stay_branch() { asm volatile(""); }

// True in exactly one lane of a converged warp; which one is not specified (PTX ISA, elect.sync).
HG_DEVICE bool elect_one() {
  uint32_t elected;
  asm volatile(
      "{\n.reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(elected));
  return elected != 0;
}

// setmaxnreg: executed by all warps of a warpgroup; increase blocks until the pool has the registers.
template <int kRegisters>
HG_DEVICE void increase_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
HG_DEVICE void decrease_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Programmatic dependent launch (PTX ISA, griddepcontrol): waits until the grids this one depends on have completed and
// their writes are visible; without the launch attribute it returns at once.
HG_DEVICE void wait_for_previous_grid() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lets the next grid start launching once every CTA has said so or has exited. A hint: it orders nothing.
HG_DEVICE void allow_next_grid() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

HG_DEVICE void annotate(Activity, int /*tile*/) {}

}  // namespace hopper_gemm::arch
