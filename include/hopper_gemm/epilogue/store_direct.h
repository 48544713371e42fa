// Registers -> global memory, any row pitch, any M and N. Four lanes cover 8 adjacent columns of a row: whole 32-byte
// sectors for f32, half sectors for 16-bit outputs (two 8-column groups complete one; L2 merges them).
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

// kWide: the output is f32; otherwise bf16 or f16, chosen at run time.
template <class K, bool kWide>
HG_DEVICE void store_direct_row_major(const Context<K>& context, const Accumulator<K>& acc, int m_begin, int n_begin) {
  constexpr KernelConfig c = K::config;
  const GemmParams& params = context.params;
  const int first_row = m_begin + static_cast<int>(context.warp * 16 + context.lane / 4);
  const int first_column = n_begin + static_cast<int>(context.lane % 4) * 2;
  const bool to_bf16 = params.out_type == DataType::bf16;
  HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
    HG_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = first_row + block * kMmaM + half * 8;
      if (row >= params.m) continue;
      const int64_t row_offset = row * params.out_pitch;
      HG_UNROLL for (int group = 0; group < c.tile_n / 8; ++group) {
        const int column = first_column + group * 8;
        const Pair pair = acc.pair(block, group, half);
        if constexpr (kWide) {
          store_pair_f32(static_cast<float*>(params.out) + row_offset, column, params.n, params.out_pairs, pair);
        } else {
          const uint32_t word = to_bf16 ? packed<DataType::bf16>(pair) : packed<DataType::f16>(pair);
          store_pair_16(static_cast<uint16_t*>(params.out) + row_offset, column, params.n, params.out_pairs, word);
        }
      }
    }
  }
}

// Column-major: the 8 lanes of a fragment column write 8 adjacent rows, one element each.
template <class K, bool kWide>
HG_DEVICE void store_direct_column_major(const Context<K>& context, const Accumulator<K>& acc, int m_begin, int n_begin) {
  constexpr KernelConfig c = K::config;
  const GemmParams& params = context.params;
  const int first_row = m_begin + static_cast<int>(context.warp * 16 + context.lane / 4);
  const int first_column = n_begin + static_cast<int>(context.lane % 4) * 2;
  const bool to_bf16 = params.out_type == DataType::bf16;
  HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
    HG_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = first_row + block * kMmaM + half * 8;
      if (row >= params.m) continue;
      HG_UNROLL for (int group = 0; group < c.tile_n / 8; ++group) {
        const int column = first_column + group * 8;
        const int64_t low = column * params.out_pitch + row, high = low + params.out_pitch;
        const Pair pair = acc.pair(block, group, half);
        if constexpr (kWide) {
          float* out = static_cast<float*>(params.out);
          if (column < params.n) arch::store_global(out + low, pair.low);
          if (column + 1 < params.n) arch::store_global(out + high, pair.high);
        } else {
          uint16_t* out = static_cast<uint16_t*>(params.out);
          const uint32_t word = to_bf16 ? packed<DataType::bf16>(pair) : packed<DataType::f16>(pair);
          if (column < params.n) arch::store_global(out + low, static_cast<uint16_t>(word));
          if (column + 1 < params.n) arch::store_global(out + high, static_cast<uint16_t>(word >> 16));
        }
      }
    }
  }
}

template <class K, bool kWide>
HG_DEVICE void store_direct(const Context<K>& context, const Accumulator<K>& acc, int m_begin, int n_begin) {
  if constexpr (K::config.is_row_major()) {
    store_direct_row_major<K, kWide>(context, acc, m_begin, n_begin);
  } else {
    store_direct_column_major<K, kWide>(context, acc, m_begin, n_begin);
  }
}

}  // namespace hopper_gemm
