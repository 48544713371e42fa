// Accumulators to output elements: one rounding, to nearest even.
#pragma once
#include "hopper_gemm/mainloop/accumulator.h"

namespace hopper_gemm {

// Two adjacent columns as one 32-bit word, the lower column in the lower half.
template <DataType kOut>
HG_DEVICE uint32_t packed(Pair pair) {
  if constexpr (kOut == DataType::bf16) return arch::pack_bf16x2(pair.low, pair.high);
  return arch::pack_f16x2(pair.low, pair.high);
}

}  // namespace hopper_gemm
