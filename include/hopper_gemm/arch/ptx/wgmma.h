// Warpgroup matrix multiply (PTX ISA: wgmma.mma_async, wgmma.fence, wgmma.commit_group, wgmma.wait_group).
//
// Fragment of D held by thread t of the warpgroup (w = t/32, g = t%32/4, q = t%4; PTX ISA, "Register fragments"):
//   f32: register i holds row 16w + g + 8*((i/2)%2), column 8*(i/4) + 2q + i%2
//   f16: register j holds row 16w + g + 8*(j%2), columns 8*(j/2) + 2q (low half) and + 1 (high half)
#pragma once
#include "hopper_gemm/arch/ptx/thread.h"
#include "hopper_gemm/arch/ptx/wgmma_operands.h"
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

// Keeps the compiler from moving accumulator accesses across this point (without it ptxas inserts waits: C7514, C7517).
template <int kCount>
HG_DEVICE void register_fence(float (&d)[kCount]) {
  HG_UNROLL for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int kCount>
HG_DEVICE void register_fence(uint32_t (&d)[kCount]) {
  HG_UNROLL for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

namespace wgmma_detail {

template <DataType kInput, DataType kAccumulator, int kN, int kTransA, int kTransB>
struct Instruction;

// One row per N: operand numbers of descriptors, predicate and transposes follow those of the accumulators.
#define HG_WGMMA(N, SHAPE, INPUT, ACC, INPUT_TEXT, TYPE, COUNT, REGS, OPERANDS, A, B, P, TA, TB)                    \
  template <int kTransA, int kTransB>                                                                             \
  struct Instruction<DataType::INPUT, DataType::ACC, N, kTransA, kTransB> {                                       \
    HG_DEVICE static void issue(TYPE (&d)[COUNT], uint64_t a, uint64_t b, uint32_t accumulate) {                  \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P ", 0;\n"                                              \
                   "wgmma.mma_async.sync.aligned.m64n" #SHAPE "k16." INPUT_TEXT " {" REGS "}, %" #A ", %" #B        \
                   ", p, 1, 1, %" #TA ", %" #TB ";\n}"                                                            \
                   : OPERANDS                                                                                     \
                   : "l"(a), "l"(b), "r"(accumulate), "n"(kTransA), "n"(kTransB)                                  \
                   : "memory");                                                                                   \
    }                                                                                                             \
  };
#define HG_WGMMA_F32(N, COUNT, ...)                                                                                 \
  HG_WGMMA(N, N, bf16, f32, "f32.bf16.bf16", float, COUNT, HG_REGS_##COUNT, HG_FLOATS_##COUNT, __VA_ARGS__)         \
  HG_WGMMA(N, N, f16, f32, "f32.f16.f16", float, COUNT, HG_REGS_##COUNT, HG_FLOATS_##COUNT, __VA_ARGS__)
#define HG_WGMMA_F16(N, COUNT, ...)                                                                                 \
  HG_WGMMA(N, N, f16, f16, "f16.f16.f16", uint32_t, COUNT, HG_REGS_##COUNT, HG_WORDS_##COUNT, __VA_ARGS__)

HG_WGMMA_F32(8, 4, 4, 5, 6, 7, 8)
HG_WGMMA_F32(16, 8, 8, 9, 10, 11, 12)
HG_WGMMA_F32(24, 12, 12, 13, 14, 15, 16)
HG_WGMMA_F32(32, 16, 16, 17, 18, 19, 20)
HG_WGMMA_F32(40, 20, 20, 21, 22, 23, 24)
HG_WGMMA_F32(48, 24, 24, 25, 26, 27, 28)
HG_WGMMA_F32(56, 28, 28, 29, 30, 31, 32)
HG_WGMMA_F32(64, 32, 32, 33, 34, 35, 36)
HG_WGMMA_F32(72, 36, 36, 37, 38, 39, 40)
HG_WGMMA_F32(80, 40, 40, 41, 42, 43, 44)
HG_WGMMA_F32(88, 44, 44, 45, 46, 47, 48)
HG_WGMMA_F32(96, 48, 48, 49, 50, 51, 52)
HG_WGMMA_F32(104, 52, 52, 53, 54, 55, 56)
HG_WGMMA_F32(112, 56, 56, 57, 58, 59, 60)
HG_WGMMA_F32(120, 60, 60, 61, 62, 63, 64)
HG_WGMMA_F32(128, 64, 64, 65, 66, 67, 68)
HG_WGMMA_F32(136, 68, 68, 69, 70, 71, 72)
HG_WGMMA_F32(144, 72, 72, 73, 74, 75, 76)
HG_WGMMA_F32(152, 76, 76, 77, 78, 79, 80)
HG_WGMMA_F32(160, 80, 80, 81, 82, 83, 84)
HG_WGMMA_F32(168, 84, 84, 85, 86, 87, 88)
HG_WGMMA_F32(176, 88, 88, 89, 90, 91, 92)
HG_WGMMA_F32(184, 92, 92, 93, 94, 95, 96)
HG_WGMMA_F32(192, 96, 96, 97, 98, 99, 100)
HG_WGMMA_F32(200, 100, 100, 101, 102, 103, 104)
HG_WGMMA_F32(208, 104, 104, 105, 106, 107, 108)
HG_WGMMA_F32(216, 108, 108, 109, 110, 111, 112)
HG_WGMMA_F32(224, 112, 112, 113, 114, 115, 116)
HG_WGMMA_F32(232, 116, 116, 117, 118, 119, 120)
HG_WGMMA_F32(240, 120, 120, 121, 122, 123, 124)
HG_WGMMA_F32(248, 124, 124, 125, 126, 127, 128)
HG_WGMMA_F32(256, 128, 128, 129, 130, 131, 132)

HG_WGMMA_F16(8, 2, 2, 3, 4, 5, 6)
HG_WGMMA_F16(16, 4, 4, 5, 6, 7, 8)
HG_WGMMA_F16(24, 6, 6, 7, 8, 9, 10)
HG_WGMMA_F16(32, 8, 8, 9, 10, 11, 12)
HG_WGMMA_F16(40, 10, 10, 11, 12, 13, 14)
HG_WGMMA_F16(48, 12, 12, 13, 14, 15, 16)
HG_WGMMA_F16(56, 14, 14, 15, 16, 17, 18)
HG_WGMMA_F16(64, 16, 16, 17, 18, 19, 20)
HG_WGMMA_F16(72, 18, 18, 19, 20, 21, 22)
HG_WGMMA_F16(80, 20, 20, 21, 22, 23, 24)
HG_WGMMA_F16(88, 22, 22, 23, 24, 25, 26)
HG_WGMMA_F16(96, 24, 24, 25, 26, 27, 28)
HG_WGMMA_F16(104, 26, 26, 27, 28, 29, 30)
HG_WGMMA_F16(112, 28, 28, 29, 30, 31, 32)
HG_WGMMA_F16(120, 30, 30, 31, 32, 33, 34)
HG_WGMMA_F16(128, 32, 32, 33, 34, 35, 36)
HG_WGMMA_F16(136, 34, 34, 35, 36, 37, 38)
HG_WGMMA_F16(144, 36, 36, 37, 38, 39, 40)
HG_WGMMA_F16(152, 38, 38, 39, 40, 41, 42)
HG_WGMMA_F16(160, 40, 40, 41, 42, 43, 44)
HG_WGMMA_F16(168, 42, 42, 43, 44, 45, 46)
HG_WGMMA_F16(176, 44, 44, 45, 46, 47, 48)
HG_WGMMA_F16(184, 46, 46, 47, 48, 49, 50)
HG_WGMMA_F16(192, 48, 48, 49, 50, 51, 52)
HG_WGMMA_F16(200, 50, 50, 51, 52, 53, 54)
HG_WGMMA_F16(208, 52, 52, 53, 54, 55, 56)
HG_WGMMA_F16(216, 54, 54, 55, 56, 57, 58)
HG_WGMMA_F16(224, 56, 56, 57, 58, 59, 60)
HG_WGMMA_F16(232, 58, 58, 59, 60, 61, 62)
HG_WGMMA_F16(240, 60, 60, 61, 62, 63, 64)
HG_WGMMA_F16(248, 62, 62, 63, 64, 65, 66)
HG_WGMMA_F16(256, 64, 64, 65, 66, 67, 68)

#undef HG_WGMMA_F32
#undef HG_WGMMA_F16
#undef HG_WGMMA

}  // namespace wgmma_detail

// D (64 x kN) = A (64 x 16) * B (16 x kN) + (accumulate ? D : 0), operands in shared memory named by descriptors
// (core/swizzle.h). All four warps, converged. D must not be touched until wgmma_wait covers the group.
template <DataType kInput, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, class T, int kCount>
HG_DEVICE void wgmma(T (&d)[kCount], uint64_t descriptor_a, uint64_t descriptor_b, bool accumulate) {
  using Instruction = wgmma_detail::Instruction<kInput, kAccumulator, kN, kMajorA == Major::mn, kMajorB == Major::mn>;
  Instruction::issue(d, descriptor_a, descriptor_b, accumulate ? 1u : 0u);
}

}  // namespace hopper_gemm::arch
