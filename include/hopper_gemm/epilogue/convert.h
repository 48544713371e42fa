// Accumulators to output elements: one rounding, to nearest even. fp8 saturates: what is too large, infinities included,
// becomes the largest finite number; NaN stays NaN.
#pragma once
#include "hopper_gemm/mainloop/accumulator.h"

namespace hopper_gemm {

// Two adjacent columns as one 32-bit word, the lower column in the lower half.
template <DataType kOut>
HG_DEVICE uint32_t packed(Pair pair) {
  if constexpr (kOut == DataType::bf16) return arch::pack_bf16x2(pair.low, pair.high);
  return arch::pack_f16x2(pair.low, pair.high);
}

// The same as 16 bits, for fp8.
template <DataType kOut>
HG_DEVICE uint16_t packed_fp8(Pair pair) {
  if constexpr (kOut == DataType::e4m3) return arch::pack_e4m3x2(pair.low, pair.high);
  return arch::pack_e5m2x2(pair.low, pair.high);
}

}  // namespace hopper_gemm
