// The accumulators of one warpgroup's part of a tile: mma_blocks() blocks of 64 rows x tile_n columns in registers.
// Indices are compile-time constants everywhere: a run-time index would put the array in local memory.
// A promoting kernel has more: `d` is what wgmma adds into, one set or two in turn, `promoted` the fp32 sums.
#pragma once
#include <type_traits>

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
template <>
struct AccumulatorRegister<DataType::s32> {
  using type = uint32_t;  // the bits of one column
};

template <int kBlocks, int kRegisters>
struct PromotedSums {
  float promoted[kBlocks][kRegisters];
};
struct NoPromotedSums {};

// Two adjacent columns of one row. Of s32 sums: their bits.
struct Pair {
  float low, high;
};

// kGroups groups of 8 columns of a 64-row block, as one thread holds them: rows r and r + 8 (the halves) of each group.
template <int kGroups>
struct Fragment {
  Pair pairs[kGroups][2];
  HG_DEVICE Pair pair(int /*block*/, int group, int half) const { return pairs[group][half]; }
};

template <class K>
struct Accumulator : std::conditional_t<K::config.promotes(),
                                        PromotedSums<K::config.mma_blocks(), K::config.block_registers()>, NoPromotedSums> {
  static constexpr KernelConfig c = K::config;
  typename AccumulatorRegister<c.accumulator>::type d[c.accumulator_sets()][c.mma_registers()];

  HG_DEVICE Accumulator() {
    HG_UNROLL for (int set = 0; set < c.accumulator_sets(); ++set)
      arch::unwritten_registers<c.accumulator>(d[set]);
    if constexpr (c.promotes()) {
      HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block)
        arch::unwritten_registers<DataType::f32>(this->promoted[block]);
    }
  }

  // Row 16 * warp + lane / 4 + 8 * half of the block, columns 8 * group + 2 * (lane % 4) and the next
  // (fragment layout: arch/ptx/wgmma.h).
  HG_DEVICE Pair pair(int block, int group, int half) const {
    if constexpr (c.accumulator == DataType::f16) {
      const uint32_t packed = d[block][2 * group + half];
      return {arch::f16_low(packed), arch::f16_high(packed)};
    } else if constexpr (c.accumulator == DataType::s32) {
      return {arch::float_of_bits(d[block][4 * group + 2 * half]), arch::float_of_bits(d[block][4 * group + 2 * half + 1])};
    } else if constexpr (c.promotes()) {
      return {this->promoted[block][4 * group + 2 * half], this->promoted[block][4 * group + 2 * half + 1]};
    } else {
      return {d[block][4 * group + 2 * half], d[block][4 * group + 2 * half + 1]};
    }
  }

  // Before the first stage of a tile. Not in its loop, where ptxas made a select of every sum in every stage.
  HG_DEVICE void begin_tile() {
    if constexpr (c.promotes()) {
      HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
        HG_UNROLL for (int i = 0; i < c.block_registers(); ++i)
          this->promoted[block][i] = 0.0f;
      }
    }
  }
  // Adds what wgmma has summed up, outside the tensor core: once the wait covers it, and before it is overwritten. `half`: of
  // the columns, where they are multiplied in halves.
  HG_DEVICE void promote(int block, int set, int half = 0) {
    arch::register_fence(d[set]);
    HG_UNROLL for (int i = 0; i < c.mma_registers(); ++i)
      this->promoted[block][half * c.mma_registers() + i] += d[set][i];
    arch::register_fence(d[set]);
  }
  // The registers that hold the sums of the tile.
  HG_DEVICE auto& sums() {
    if constexpr (c.promotes()) {
      return this->promoted;
    } else {
      return d;
    }
  }
  // kGroups groups of 8 columns of the first block, as floats.
  template <int kGroups>
  HG_DEVICE Fragment<kGroups> fragment(int first_group) const {
    Fragment<kGroups> part;
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      HG_UNROLL for (int half = 0; half < 2; ++half)
        part.pairs[group][half] = pair(0, first_group + group, half);
    }
    return part;
  }
  // A loop over the parts of a tile, of kGroups groups each and counted block after block, has constant indices without
  // being unrolled: it works in the place of the first part, and `bring` copies a later one there. What was there is kept
  // unless a part is copied over it: that says to the compiler that it may work on it in place (240 bytes of stack without
  // it beside 192 accumulators).
  template <int kGroups>
  HG_DEVICE void bring(const Fragment<kGroups>& used, int index) {
    constexpr int kRow = c.block_registers(), kStep = kGroups * kRow / (c.tile_n / 8),
                  kParts = c.mma_blocks() * kRow / kStep;
    auto& s = sums();
    HG_UNROLL for (int i = 0; i < kStep; ++i) {
      if constexpr (c.accumulator == DataType::f32) {
        const Pair pair = used.pairs[i / 4][i / 2 % 2];
        s[i / kRow][i % kRow] = i % 2 == 0 ? pair.low : pair.high;
      } else if constexpr (c.accumulator == DataType::f16) {
        s[i / kRow][i % kRow] = 0;  // packed halves were not worked on in place
      }
    }
    HG_UNROLL for (int part = 1; part < kParts; ++part) {
      if (part != index) continue;
      arch::stay_branch();
      HG_UNROLL for (int i = 0; i < kStep; ++i)
        s[i / kRow][i % kRow] = s[(i + part * kStep) / kRow][(i + part * kStep) % kRow];
    }
  }

  HG_DEVICE void fence() {
    HG_UNROLL for (int set = 0; set < c.accumulator_sets(); ++set)
      arch::register_fence(d[set]);
  }
};

}  // namespace hopper_gemm
