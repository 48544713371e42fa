// Warpgroup matrix multiply (PTX ISA: wgmma.mma_async, wgmma.fence, wgmma.commit_group, wgmma.wait_group).
//
// Fragment of D held by thread t of the warpgroup (w = t/32, g = t%32/4, q = t%4; PTX ISA, "Register fragments"):
//   f32: register i holds row 16w + g + 8*((i/2)%2), column 8*(i/4) + 2q + i%2
//   s32: the same as f32
//   f16: register j holds row 16w + g + 8*(j%2), columns 8*(j/2) + 2q (low half) and + 1 (high half)
#pragma once
#include "hopper_gemm/arch/ptx/thread.h"
#include "hopper_gemm/arch/ptx/wgmma_instructions.h"
#include "hopper_gemm/core/types.h"

namespace hopper_gemm::arch {

// Before the first wgmma, and whenever accumulators were touched by other instructions.
HG_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
HG_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most kGroups committed groups are unfinished.
template <int kGroups>
HG_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

// Accumulators that nothing has written yet: no instruction here, poison in the emulator.
template <DataType kAccumulator, class T, int kCount>
HG_DEVICE void unwritten_registers(T (&)[kCount]) {}

// Keeps the compiler from moving accumulator accesses across this point (without it ptxas inserts waits: C7514, C7517).
template <int kCount>
HG_DEVICE void register_fence(float (&d)[kCount]) {
  HG_UNROLL for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}
template <int kCount>
HG_DEVICE void register_fence(uint32_t (&d)[kCount]) {
  HG_UNROLL for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+r"(d[i])::"memory");
}

// D (64 x kN) = A (64 x 32 bytes) * B (32 bytes x kN) + (accumulate ? D : 0), operands in shared memory named by descriptors
// (core/swizzle.h). All four warps, converged. D must not be touched until wgmma_wait covers the group.
// Of tf32 operands the upper 19 bits are read: whatever lies in the others is cut off.
template <DataType kTypeA, DataType kTypeB, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, class T, int kCount>
HG_DEVICE void wgmma(T (&d)[kCount], uint64_t descriptor_a, uint64_t descriptor_b, bool accumulate) {
  using Instruction =
      wgmma_detail::Instruction<kTypeA, kTypeB, kAccumulator, kN, kMajorA == Major::mn, kMajorB == Major::mn>;
  Instruction::issue(d, descriptor_a, descriptor_b, accumulate ? 1u : 0u);
}

}  // namespace hopper_gemm::arch
