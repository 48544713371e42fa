// Registers -> global memory, any type, any pitch, any M and N. Four lanes cover 8 adjacent columns of a row: whole 32-byte
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
HG_DEVICE void store_pair_8(uint8_t* row, int column, int n, bool pairs, uint16_t word) {
  if (pairs && column + 1 < n) {
    arch::store_global(reinterpret_cast<uint16_t*>(row + column), word);
  } else {
    if (column < n) arch::store_global(row + column, static_cast<uint8_t>(word));
    if (column + 1 < n) arch::store_global(row + column + 1, static_cast<uint8_t>(word >> 8));
  }
}

// Calls store(bytes of an output element) with a constant: the types a kernel can write, s32 sums as s32 alone.
template <class K, class Store>
HG_DEVICE void with_output_bytes(DataType type, Store store) {
  if (K::config.accumulator == DataType::s32 || element_bytes(type) == 4) {
    store(std::integral_constant<int, 4>{});
  } else if constexpr (K::config.accumulator != DataType::s32) {
    if (element_bytes(type) == 2) {
      store(std::integral_constant<int, 2>{});
    } else {
      store(std::integral_constant<int, 1>{});
    }
  }
}

template <class K>
struct DirectStore {
  static constexpr KernelConfig c = K::config;
  const Context<K>& context;
  int m_begin, n_begin, batch;

  // kBytes of an output element: 4 is f32, or s32 of s32 sums; 2 is bf16 or f16, 1 is e4m3 or e5m2, chosen at run time.
  template <int kBytes>
  HG_DEVICE void store_all(const Accumulator<K>& acc) const {
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
      HG_UNROLL for (int half = 0; half < 2; ++half) {
        const int row = row_of(block, half);
        if (row >= context.params.m) continue;
        const int64_t offset = offset_of(row);
        HG_UNROLL for (int group = 0; group < c.tile_n / 8; ++group)
          store_pair<kBytes>(offset, column_of(group), acc.pair(block, group, half));
      }
    }
  }

  // A part of the tile that begins with group `first_group` of `block`; both may be run-time values.
  template <int kBytes, int kGroups>
  HG_DEVICE void store_part(const Fragment<kGroups>& part, int block, int first_group) const {
    HG_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row_of(block, half);
      if (row >= context.params.m) continue;
      HG_UNROLL for (int group = 0; group < kGroups; ++group)
        store_pair<kBytes>(offset_of(row), column_of(first_group + group), part.pairs[group][half]);
    }
  }

 private:
  HG_DEVICE int row_of(int block, int half) const {
    return m_begin + static_cast<int>(context.warp * 16 + context.lane / 4) + block * kMmaM + half * 8;
  }
  HG_DEVICE int column_of(int group) const { return n_begin + static_cast<int>(context.lane % 4) * 2 + group * 8; }
  HG_DEVICE int64_t offset_of(int row) const {
    const GemmParams& params = context.params;
    return batch * params.out_batch + (c.is_row_major() ? row * params.out_pitch : row);
  }

  // Two adjacent columns of the row that starts at `offset`.
  template <int kBytes>
  HG_DEVICE void store_pair(int64_t offset, int column, Pair pair) const {
    const GemmParams& params = context.params;
    if constexpr (kBytes == 4) {
      float* out = static_cast<float*>(params.out) + offset;
      if constexpr (c.is_row_major()) {
        store_pair_f32(out, column, params.n, params.out_pairs, pair);
      } else {
        if (column < params.n) arch::store_global(out + column * params.out_pitch, pair.low);
        if (column + 1 < params.n) arch::store_global(out + (column + 1) * params.out_pitch, pair.high);
      }
    } else if constexpr (kBytes == 1) {
      uint8_t* out = static_cast<uint8_t*>(params.out) + offset;
      const uint16_t word =
          params.out_type == DataType::e4m3 ? packed_fp8<DataType::e4m3>(pair) : packed_fp8<DataType::e5m2>(pair);
      if constexpr (c.is_row_major()) {
        store_pair_8(out, column, params.n, params.out_pairs, word);
      } else {
        if (column < params.n) arch::store_global(out + column * params.out_pitch, static_cast<uint8_t>(word));
        if (column + 1 < params.n)
          arch::store_global(out + (column + 1) * params.out_pitch, static_cast<uint8_t>(word >> 8));
      }
    } else {
      uint16_t* out = static_cast<uint16_t*>(params.out) + offset;
      const uint32_t word = params.out_type == DataType::bf16 ? packed<DataType::bf16>(pair) : packed<DataType::f16>(pair);
      if constexpr (c.is_row_major()) {
        store_pair_16(out, column, params.n, params.out_pairs, word);
      } else {
        if (column < params.n) arch::store_global(out + column * params.out_pitch, static_cast<uint16_t>(word));
        if (column + 1 < params.n)
          arch::store_global(out + (column + 1) * params.out_pitch, static_cast<uint16_t>(word >> 16));
      }
    }
  }
};

}  // namespace hopper_gemm
