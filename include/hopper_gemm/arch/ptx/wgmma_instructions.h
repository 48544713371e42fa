// One wgmma.mma_async for every combination of types and every N (PTX ISA, wgmma.mma_async): Instruction<A, B, D, N, ...>.
// K is always 32 bytes. Only 16-bit operands can be transposed, and integers have no negation: their instructions end earlier.
#pragma once
#include "hopper_gemm/arch/ptx/thread.h"
#include "hopper_gemm/arch/ptx/wgmma_operands.h"
#include "hopper_gemm/core/types.h"

namespace hopper_gemm::arch::wgmma_detail {

template <DataType kA, DataType kB, DataType kAccumulator, int kN, int kTransA, int kTransB>
struct Instruction;

// Tables, as they are best read.
// clang-format off

// X(N, accumulator registers, then the operand numbers that follow those: A, B, predicate, transposes)
#define HG_EACH_N(X) \
  X(8, 4, 4, 5, 6, 7, 8) X(16, 8, 8, 9, 10, 11, 12) X(24, 12, 12, 13, 14, 15, 16) X(32, 16, 16, 17, 18, 19, 20) \
  X(40, 20, 20, 21, 22, 23, 24) X(48, 24, 24, 25, 26, 27, 28) X(56, 28, 28, 29, 30, 31, 32) X(64, 32, 32, 33, 34, 35, 36) \
  X(72, 36, 36, 37, 38, 39, 40) X(80, 40, 40, 41, 42, 43, 44) X(88, 44, 44, 45, 46, 47, 48) X(96, 48, 48, 49, 50, 51, 52) \
  X(104, 52, 52, 53, 54, 55, 56) X(112, 56, 56, 57, 58, 59, 60) X(120, 60, 60, 61, 62, 63, 64) X(128, 64, 64, 65, 66, 67, 68) \
  X(136, 68, 68, 69, 70, 71, 72) X(144, 72, 72, 73, 74, 75, 76) X(152, 76, 76, 77, 78, 79, 80) X(160, 80, 80, 81, 82, 83, 84) \
  X(168, 84, 84, 85, 86, 87, 88) X(176, 88, 88, 89, 90, 91, 92) X(184, 92, 92, 93, 94, 95, 96) X(192, 96, 96, 97, 98, 99, 100) \
  X(200, 100, 100, 101, 102, 103, 104) X(208, 104, 104, 105, 106, 107, 108) X(216, 108, 108, 109, 110, 111, 112) X(224, 112, 112, 113, 114, 115, 116) \
  X(232, 116, 116, 117, 118, 119, 120) X(240, 120, 120, 121, 122, 123, 124) X(248, 124, 124, 125, 126, 127, 128) X(256, 128, 128, 129, 130, 131, 132)
#define HG_EACH_N_HALVES(X) \
  X(8, 2, 2, 3, 4, 5, 6) X(16, 4, 4, 5, 6, 7, 8) X(24, 6, 6, 7, 8, 9, 10) X(32, 8, 8, 9, 10, 11, 12) \
  X(40, 10, 10, 11, 12, 13, 14) X(48, 12, 12, 13, 14, 15, 16) X(56, 14, 14, 15, 16, 17, 18) X(64, 16, 16, 17, 18, 19, 20) \
  X(72, 18, 18, 19, 20, 21, 22) X(80, 20, 20, 21, 22, 23, 24) X(88, 22, 22, 23, 24, 25, 26) X(96, 24, 24, 25, 26, 27, 28) \
  X(104, 26, 26, 27, 28, 29, 30) X(112, 28, 28, 29, 30, 31, 32) X(120, 30, 30, 31, 32, 33, 34) X(128, 32, 32, 33, 34, 35, 36) \
  X(136, 34, 34, 35, 36, 37, 38) X(144, 36, 36, 37, 38, 39, 40) X(152, 38, 38, 39, 40, 41, 42) X(160, 40, 40, 41, 42, 43, 44) \
  X(168, 42, 42, 43, 44, 45, 46) X(176, 44, 44, 45, 46, 47, 48) X(184, 46, 46, 47, 48, 49, 50) X(192, 48, 48, 49, 50, 51, 52) \
  X(200, 50, 50, 51, 52, 53, 54) X(208, 52, 52, 53, 54, 55, 56) X(216, 54, 54, 55, 56, 57, 58) X(224, 56, 56, 57, 58, 59, 60) \
  X(232, 58, 58, 59, 60, 61, 62) X(240, 60, 60, 61, 62, 63, 64) X(248, 62, 62, 63, 64, 65, 66) X(256, 64, 64, 65, 66, 67, 68)
#define HG_EACH_N_INTEGER(X) \
  X(8, 4, 4, 5, 6, 7, 8) X(16, 8, 8, 9, 10, 11, 12) X(24, 12, 12, 13, 14, 15, 16) X(32, 16, 16, 17, 18, 19, 20) \
  X(48, 24, 24, 25, 26, 27, 28) X(64, 32, 32, 33, 34, 35, 36) X(80, 40, 40, 41, 42, 43, 44) X(96, 48, 48, 49, 50, 51, 52) \
  X(112, 56, 56, 57, 58, 59, 60) X(128, 64, 64, 65, 66, 67, 68) X(144, 72, 72, 73, 74, 75, 76) X(160, 80, 80, 81, 82, 83, 84) \
  X(176, 88, 88, 89, 90, 91, 92) X(192, 96, 96, 97, 98, 99, 100) X(208, 104, 104, 105, 106, 107, 108) X(224, 112, 112, 113, 114, 115, 116) \
  X(240, 120, 120, 121, 122, 123, 124) X(256, 128, 128, 129, 130, 131, 132)

#define HG_WGMMA_TEXT(N, K, TYPES, REGS, A, B, P)                  \
  "{\n.reg .pred p;\nsetp.ne.b32 p, %" #P ", 0;\n"                 \
  "wgmma.mma_async.sync.aligned.m64n" #N "k" #K "." TYPES " {" REGS "}, %" #A ", %" #B ", p"

// 16-bit operands: negations, transposes.
#define HG_WGMMA_16(N, TYPE, ACC, TYPES, WORD, COUNT, OPERANDS, A, B, P, TA, TB)                                     \
  template <int kTransA, int kTransB>                                                                              \
  struct Instruction<DataType::TYPE, DataType::TYPE, DataType::ACC, N, kTransA, kTransB> {                         \
    HG_DEVICE static void issue(WORD (&d)[COUNT], uint64_t a, uint64_t b, uint32_t accumulate) {                   \
      asm volatile(HG_WGMMA_TEXT(N, 16, TYPES, HG_REGS_##COUNT, A, B, P) ", 1, 1, %" #TA ", %" #TB ";\n}"          \
                   : OPERANDS                                                                                      \
                   : "l"(a), "l"(b), "r"(accumulate), "n"(kTransA), "n"(kTransB)                                   \
                   : "memory");                                                                                    \
    }                                                                                                              \
  };
// K-major operands alone.
#define HG_WGMMA_K(N, K, TYPE_A, TYPE_B, ACC, TYPES, TAIL, WORD, COUNT, OPERANDS, A, B, P)                           \
  template <>                                                                                                      \
  struct Instruction<DataType::TYPE_A, DataType::TYPE_B, DataType::ACC, N, 0, 0> {                                 \
    HG_DEVICE static void issue(WORD (&d)[COUNT], uint64_t a, uint64_t b, uint32_t accumulate) {                   \
      asm volatile(HG_WGMMA_TEXT(N, K, TYPES, HG_REGS_##COUNT, A, B, P) TAIL ";\n}"                                \
                   : OPERANDS                                                                                      \
                   : "l"(a), "l"(b), "r"(accumulate)                                                               \
                   : "memory");                                                                                    \
    }                                                                                                              \
  };

#define HG_BF16(N, COUNT, ...) HG_WGMMA_16(N, bf16, f32, "f32.bf16.bf16", float, COUNT, HG_FLOATS_##COUNT, __VA_ARGS__)
#define HG_F16(N, COUNT, ...) HG_WGMMA_16(N, f16, f32, "f32.f16.f16", float, COUNT, HG_FLOATS_##COUNT, __VA_ARGS__)
#define HG_F16_F16(N, COUNT, ...) HG_WGMMA_16(N, f16, f16, "f16.f16.f16", uint32_t, COUNT, HG_WORDS_##COUNT, __VA_ARGS__)
HG_EACH_N(HG_BF16)
HG_EACH_N(HG_F16)
HG_EACH_N_HALVES(HG_F16_F16)

#define HG_TF32(N, COUNT, A, B, P, ...) \
  HG_WGMMA_K(N, 8, tf32, tf32, f32, "f32.tf32.tf32", ", 1, 1", float, COUNT, HG_FLOATS_##COUNT, A, B, P)
HG_EACH_N(HG_TF32)

#define HG_FP8(N, COUNT, TYPE_A, TYPE_B, A, B, P) \
  HG_WGMMA_K(N, 32, TYPE_A, TYPE_B, f32, "f32." #TYPE_A "." #TYPE_B, ", 1, 1", float, COUNT, HG_FLOATS_##COUNT, A, B, P)
#define HG_E4M3_E4M3(N, COUNT, A, B, P, ...) HG_FP8(N, COUNT, e4m3, e4m3, A, B, P)
#define HG_E4M3_E5M2(N, COUNT, A, B, P, ...) HG_FP8(N, COUNT, e4m3, e5m2, A, B, P)
#define HG_E5M2_E4M3(N, COUNT, A, B, P, ...) HG_FP8(N, COUNT, e5m2, e4m3, A, B, P)
#define HG_E5M2_E5M2(N, COUNT, A, B, P, ...) HG_FP8(N, COUNT, e5m2, e5m2, A, B, P)
HG_EACH_N(HG_E4M3_E4M3)
HG_EACH_N(HG_E4M3_E5M2)
HG_EACH_N(HG_E5M2_E4M3)
HG_EACH_N(HG_E5M2_E5M2)

#define HG_INT8(N, COUNT, TYPE_A, TYPE_B, A, B, P) \
  HG_WGMMA_K(N, 32, TYPE_A, TYPE_B, s32, "s32." #TYPE_A "." #TYPE_B, "", uint32_t, COUNT, HG_WORDS_##COUNT, A, B, P)
#define HG_S8_S8(N, COUNT, A, B, P, ...) HG_INT8(N, COUNT, s8, s8, A, B, P)
#define HG_S8_U8(N, COUNT, A, B, P, ...) HG_INT8(N, COUNT, s8, u8, A, B, P)
#define HG_U8_S8(N, COUNT, A, B, P, ...) HG_INT8(N, COUNT, u8, s8, A, B, P)
#define HG_U8_U8(N, COUNT, A, B, P, ...) HG_INT8(N, COUNT, u8, u8, A, B, P)
HG_EACH_N_INTEGER(HG_S8_S8)
HG_EACH_N_INTEGER(HG_S8_U8)
HG_EACH_N_INTEGER(HG_U8_S8)
HG_EACH_N_INTEGER(HG_U8_U8)

// clang-format on

#undef HG_EACH_N
#undef HG_EACH_N_HALVES
#undef HG_EACH_N_INTEGER
#undef HG_WGMMA_TEXT
#undef HG_WGMMA_16
#undef HG_WGMMA_K
#undef HG_BF16
#undef HG_F16
#undef HG_F16_F16
#undef HG_TF32
#undef HG_FP8
#undef HG_E4M3_E4M3
#undef HG_E4M3_E5M2
#undef HG_E5M2_E4M3
#undef HG_E5M2_E5M2
#undef HG_INT8
#undef HG_S8_S8
#undef HG_S8_U8
#undef HG_U8_S8
#undef HG_U8_U8

}  // namespace hopper_gemm::arch::wgmma_detail
