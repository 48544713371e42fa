// The vocabulary of a kernel: enumerations every layer shares, host and device.
#pragma once
#include <cstdint>

namespace hopper_gemm {

// The five schedules, in the order of the ladder; CUTLASS calls them KernelMultistage, KernelTma,
// KernelTmaWarpSpecialized, KernelTmaWarpSpecializedCooperative, KernelTmaWarpSpecializedPingpong.
enum class Schedule : int { multistage, tma, warp_specialized, cooperative, pingpong };

// Of operands in memory, accumulators and outputs. tf32 is an operand of float32 in memory, of which wgmma reads the upper
// 19 bits; TMA and the cp.async path round it to those first (mainloop/cp_async_load.h). s32 sums wrap around.
enum class DataType : int { bf16, f16, f32, tf32, e4m3, e5m2, s8, u8, s32 };
constexpr int kDataTypes = 9;

// Which index of an operand is contiguous in memory: K, or M (of A) / N (of B).
enum class Major : int { k, mn };

// How the output is stored. Column-major lets a problem run with its operands exchanged (out^T = B^T A^T): the small
// extent of a decode step then falls on wgmma's N.
enum class OutputOrder : int { row_major, column_major };

// Shared-memory swizzle. The span is the row length in bytes of one swizzle atom: 16 << value.
enum class Swizzle : int { none, b32, b64, b128 };

// How the epilogue can write the output: registers -> global; stmatrix -> shared -> TMA store; or, chosen at run time where a
// kernel that has the latter cannot use it, stmatrix -> shared -> rows in global memory (epilogue/store_rows.h).
enum class Store : int { direct, tma, rows };

// Order in which tiles are walked: `along_m` visits consecutive rows of tiles first.
// `apart` walks like along_m; what else it asks of a kernel is told by mainloop/k_order.h.
enum class Raster : int { along_m, along_n, apart };

// Which operand of a kernel, if any, is written by nothing that may still run when the kernel is launched: weights. Its first
// stages are loaded before the grid before this one has ended (kernel/producer.h).
enum class StaticOperand : int { none, a, b };

// Applied to the sum in the epilogue; each is torch.nn.functional's function of that name (gelu: the exact one, with erf).
enum class Activation : int { none, relu, gelu, gelu_tanh, silu, sigmoid };
constexpr int kActivations = 6;

constexpr int element_bytes(DataType type) {
  using enum DataType;
  return type == f32 || type == tf32 || type == s32 ? 4 : type == bf16 || type == f16 ? 2 : 1;
}
constexpr bool is_fp8(DataType type) { return type == DataType::e4m3 || type == DataType::e5m2; }
constexpr bool is_integer(DataType type) { return type == DataType::s8 || type == DataType::u8 || type == DataType::s32; }
// Registers of one thread for a 64 x n accumulator: f16 packs two columns into one.
constexpr int accumulator_registers(DataType accumulator, int n) { return n / (accumulator == DataType::f16 ? 4 : 2); }
constexpr int swizzle_span_bytes(Swizzle swizzle) { return 16 << static_cast<int>(swizzle); }

// Storage types for 16-bit floats: bits only, so that neither side needs a vendor header.
struct bfloat16 {
  uint16_t bits;
};
struct float16 {
  uint16_t bits;
};

}  // namespace hopper_gemm
