// The accumulators of one warpgroup's part of a tile: mma_blocks() blocks of 64 rows x tile_n columns in registers.
// Indices are compile-time constants everywhere: a run-time index would put the array in local memory.
#pragma once
#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/config.h"

namespace hopper_gemm {

template <DataType kAccumulator>
struct AccumulatorRegister {
  using type = float;
};
template <>
struct AccumulatorRegister<DataType::f16> {
  using type = uint32_t;  // two packed columns
};

// Two adjacent columns of one row.
struct Pair {
  float low, high;
};

template <class K>
struct Accumulator {
  static constexpr KernelConfig c = K::config;
  typename AccumulatorRegister<c.accumulator>::type d[c.mma_blocks()][c.mma_registers()];

  // Row 16 * warp + lane / 4 + 8 * half of the block, columns 8 * group + 2 * (lane % 4) and the next
  // (fragment layout: arch/ptx/wgmma.h).
  HG_DEVICE Pair pair(int block, int group, int half) const {
    if constexpr (c.accumulator == DataType::f16) {
      const uint32_t packed = d[block][2 * group + half];
      return {arch::f16_low(packed), arch::f16_high(packed)};
    } else {
      return {d[block][4 * group + 2 * half], d[block][4 * group + 2 * half + 1]};
    }
  }

  HG_DEVICE void fence() {
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) arch::register_fence(d[block]);
  }
};

}  // namespace hopper_gemm
