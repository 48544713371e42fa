// Registers -> global memory, any type, any pitch, any M and N. Four lanes cover 8 adjacent columns of a row: whole 32-byte
// sectors for f32, half sectors for 16-bit outputs (two 8-column groups complete one; L2 merges them). Column-major: the 8 lanes of a
// fragment column write 8 adjacent elements.
#pragma once
#include "hopper_gemm/epilogue/convert.h"
#include "hopper_gemm/kernel/context.h"

namespace hopper_gemm {

// An output element as it lies in memory, and two adjacent ones.
template <int kBytes>
struct Stored {
  using Element = std::conditional_t<kBytes == 2, uint16_t, uint8_t>;
  using Two = std::conditional_t<kBytes == 2, uint32_t, uint16_t>;
  HG_DEVICE static Element low(Two two) { return static_cast<Element>(two); }
  HG_DEVICE static Element high(Two two) { return static_cast<Element>(two >> 8 * kBytes); }
};
template <>
struct Stored<4> {  // f32, or the bits of s32
  using Element = float;
  using Two = arch::Float2;
  HG_DEVICE static Element low(Two two) { return two.low; }
  HG_DEVICE static Element high(Two two) { return two.high; }
};

// Calls store(bytes of an output element) with a constant: the types a kernel can write from registers. s32 sums are written as
// s32 alone; 16-bit outputs may take another path (store_rows.h).
template <class K, class Write>
HG_DEVICE void with_output_bytes(DataType type, Write store) {
  if (K::config.accumulator == DataType::s32 || element_bytes(type) == 4) {
    store(std::integral_constant<int, 4>{});
  } else if constexpr (K::config.accumulator != DataType::s32) {
    if (!K::config.stores_rows() && element_bytes(type) == 2) {
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
  int batch;

  // The part of a tile that begins at `row` and `column` of the output.
  template <int kGroups>
  HG_DEVICE void store(const Fragment<kGroups>& part, int row, int column) const {
    with_output_bytes<K>(context.params.out_type, [&](auto bytes) { store_as<bytes>(part, row, column); });
  }

 private:
  template <int kBytes, int kGroups>
  HG_DEVICE void store_as(const Fragment<kGroups>& part, int row, int column) const {
    using Element = typename Stored<kBytes>::Element;
    using Two = typename Stored<kBytes>::Two;
    const GemmParams& params = context.params;
    Two rounded[kGroups][2];
    round<kBytes>(rounded, part);
    const bool pairs = c.is_row_major() && params.out_pairs && column + 8 * kGroups <= params.n;  // all of them
    row += static_cast<int>(context.warp * 16 + context.lane / 4);
    column += static_cast<int>(context.lane % 4 * 2);
    const int64_t row_step = c.is_row_major() ? params.out_pitch : 1, step = c.is_row_major() ? 1 : params.out_pitch;
    Element* first = static_cast<Element*>(params.out) + batch * params.out_batch + row * row_step + column * step;
    HG_UNROLL for (int half = 0; half < 2; ++half) {
      if (row + 8 * half >= params.m) continue;
      Element* out = first + 8 * half * row_step;
      if (pairs) {
        HG_UNROLL for (int group = 0; group < kGroups; ++group)
          arch::store_global(reinterpret_cast<Two*>(out + 8 * group), rounded[group][half]);
        continue;
      }
      HG_UNROLL for (int group = 0; group < kGroups; ++group) {
        const int at = column + 8 * group;
        if (at < params.n) arch::store_global(out, Stored<kBytes>::low(rounded[group][half]));
        if (at + 1 < params.n) arch::store_global(out + step, Stored<kBytes>::high(rounded[group][half]));
        out += 8 * step;
      }
    }
  }

  template <int kBytes, int kGroups>
  HG_DEVICE void round(typename Stored<kBytes>::Two (&rounded)[kGroups][2], const Fragment<kGroups>& part) const {
    using enum DataType;
    const auto each = [&](auto function) {
      HG_UNROLL for (int group = 0; group < kGroups; ++group) {
        HG_UNROLL for (int half = 0; half < 2; ++half)
          rounded[group][half] = function(part.pairs[group][half]);
      }
    };
    const DataType type = context.params.out_type;
    if constexpr (kBytes == 4) {
      each([](Pair pair) { return arch::Float2{pair.low, pair.high}; });
    } else if constexpr (kBytes == 2) {
      type == bf16 ? each(packed<bf16>) : each(packed<f16>);
    } else {
      type == e4m3 ? each(packed_fp8<e4m3>) : each(packed_fp8<e5m2>);
    }
  }
};

}  // namespace hopper_gemm
