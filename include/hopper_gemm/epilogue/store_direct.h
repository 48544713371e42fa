// Registers -> global memory, any pitch, any M and N. Four lanes cover 8 adjacent columns of a row: whole 32-byte
// sectors for f32, half sectors for 16-bit outputs (two 8-column groups complete one; L2 merges them). Column-major: the 8 lanes of a
// fragment column write 8 adjacent elements.
#pragma once
#include "hopper_gemm/epilogue/convert.h"
#include "hopper_gemm/kernel/context.h"

namespace hopper_gemm {

// Columns `column` and `column + 1` of the row at `row`; the second only if it lies inside the output.
HG_DEVICE void store_pair_f32(float* row, int column, int n, bool pairs, Pair pair) {
  struct alignas(8) Floats {
    float low, high;
  };
  if (pairs && column + 1 < n) {
    arch::store_global(reinterpret_cast<Floats*>(row + column), Floats{pair.low, pair.high});
  } else {
    if (column < n) arch::store_global(row + column, pair.low);
    if (column + 1 < n) arch::store_global(row + column + 1, pair.high);
  }
}
HG_DEVICE void store_pair_16(uint16_t* row, int column, int n, bool pairs, uint32_t word) {
  if (pairs && column + 1 < n) {
    arch::store_global(reinterpret_cast<uint32_t*>(row + column), word);
  } else {
    if (column < n) arch::store_global(row + column, static_cast<uint16_t>(word));
    if (column + 1 < n) arch::store_global(row + column + 1, static_cast<uint16_t>(word >> 16));
  }
}

// One group of 8 columns of a 64-row block, as one thread holds it: rows `row` and `row` + 8, columns `column` and the next.
struct FragmentGroup {
  Pair upper, lower;
};

template <class K>
struct DirectStore {
  static constexpr KernelConfig c = K::config;
  const Context<K>& context;
  int m_begin, n_begin;

  // kWide: the output is f32; otherwise bf16 or f16, chosen at run time.
  template <bool kWide>
  HG_DEVICE void store(int block, int group, FragmentGroup values) const {
    const int row = m_begin + block * kMmaM + static_cast<int>(context.warp * 16 + context.lane / 4);
    const int column = n_begin + group * 8 + static_cast<int>(context.lane % 4) * 2;
    if (row < context.params.m) store_pair<kWide>(row, column, values.upper);
    if (row + 8 < context.params.m) store_pair<kWide>(row + 8, column, values.lower);
  }

  template <bool kWide>
  HG_DEVICE void store_all(const Accumulator<K>& acc) const {
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
      HG_UNROLL for (int group = 0; group < c.tile_n / 8; ++group)
        store<kWide>(block, group, {acc.pair(block, group, 0), acc.pair(block, group, 1)});
    }
  }

 private:
  template <bool kWide>
  HG_DEVICE void store_pair(int row, int column, Pair pair) const {
    const GemmParams& params = context.params;
    if constexpr (kWide) {
      float* out = static_cast<float*>(params.out);
      if constexpr (c.is_row_major()) {
        store_pair_f32(out + row * params.out_pitch, column, params.n, params.out_pairs, pair);
      } else {
        if (column < params.n) arch::store_global(out + column * params.out_pitch + row, pair.low);
        if (column + 1 < params.n) arch::store_global(out + (column + 1) * params.out_pitch + row, pair.high);
      }
    } else {
      uint16_t* out = static_cast<uint16_t*>(params.out);
      const uint32_t word = params.out_type == DataType::bf16 ? packed<DataType::bf16>(pair) : packed<DataType::f16>(pair);
      if constexpr (c.is_row_major()) {
        store_pair_16(out + row * params.out_pitch, column, params.n, params.out_pairs, word);
      } else {
        if (column < params.n) arch::store_global(out + column * params.out_pitch + row, static_cast<uint16_t>(word));
        if (column + 1 < params.n)
          arch::store_global(out + (column + 1) * params.out_pitch + row, static_cast<uint16_t>(word >> 16));
      }
    }
  }
};

}  // namespace hopper_gemm
