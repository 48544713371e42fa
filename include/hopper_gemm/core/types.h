// The vocabulary of a kernel: enumerations every layer shares, host and device.
#pragma once
#include <cstdint>

namespace hopper_gemm {

// The five schedules, in the order of the ladder; CUTLASS calls them KernelMultistage, KernelTma,
// KernelTmaWarpSpecialized, KernelTmaWarpSpecializedCooperative, KernelTmaWarpSpecializedPingpong.
enum class Schedule : int { multistage, tma, warp_specialized, cooperative, pingpong };

enum class DataType : int { bf16, f16, f32 };

// Which index of an operand is contiguous in memory: K, or M (of A) / N (of B).
enum class Major : int { k, mn };

// How the output is stored. Column-major lets a problem run with its operands exchanged (out^T = B^T A^T): the small
// extent of a decode step then falls on wgmma's N.
enum class OutputOrder : int { row_major, column_major };

// Shared-memory swizzle. The span is the row length in bytes of one swizzle atom: 16 << value.
enum class Swizzle : int { none, b32, b64, b128 };

// How the epilogue can write the output: registers -> global, or stmatrix -> shared -> TMA store.
enum class Store : int { direct, tma };

// Order in which tiles are walked: `along_m` visits consecutive rows of tiles first.
enum class Raster : int { along_m, along_n };

constexpr int element_bytes(DataType type) { return type == DataType::f32 ? 4 : 2; }
constexpr int swizzle_span_bytes(Swizzle swizzle) { return 16 << static_cast<int>(swizzle); }

// Storage types for 16-bit floats: bits only, so that neither side needs a vendor header.
struct bfloat16 {
  uint16_t bits;
};
struct float16 {
  uint16_t bits;
};

}  // namespace hopper_gemm
