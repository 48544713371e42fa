// The run-time operations on a part of a tile between the sums and the rounding (core/epilogue_params.h has the formula).
// Step by step over the whole part, so that the loads of a step are in flight together. Every branch is warp-uniform, and
// an option that is absent costs at most one for a part.
#pragma once
#include "hopper_gemm/epilogue/activation.h"
#include "hopper_gemm/kernel/context.h"
#include "hopper_gemm/mainloop/accumulator.h"

namespace hopper_gemm {

template <class K>
struct Operations {
  const Context<K>& context;
  const EpilogueParams& params;
  int m, n, batch;

  HG_DEVICE static Operations make(const Context<K>& context, int batch) {
    return {context, context.params.epilogue, context.params.m, context.params.n, batch};
  }

  // `part` begins at `row` and `column` of the output.
  template <int kGroups>
  HG_DEVICE void apply(Fragment<kGroups>& part, int row, int column) const {
    const bool whole = column + 8 * kGroups <= n;
    row += static_cast<int>(context.warp * 16 + context.lane / 4);
    column += static_cast<int>(context.lane % 4 * 2);
    if (params.scaled) scale(part, row, column, whole);
    HG_NO_UNROLL for (int i = 0;; ++i) {
      if (i == params.addends_before_activation) activate(part);
      if (i == params.addends) break;
      if (params.addend[i].type == DataType::f32) {
        add<float>(part, i, row, column, whole);
      } else {
        add<uint16_t>(part, i, row, column, whole);
      }
    }
    if (params.scale_result != nullptr) {
      const float factor = arch::load_global_if(params.scale_result, true);
      for_each(part, [&](float value) { return value * factor; });
    }
  }

  // Addends as large as the output are brought to L2 while a tile is multiplied: rows `row` ... of a warpgroup, columns
  // `column` ... of the tile. They come from memory otherwise, part by part, with nothing to hide behind.
  HG_DEVICE void prefetch(int row, int column) const {
    constexpr int kLine = 128;
    HG_NO_UNROLL for (int i = 0; i < params.addends; ++i) {
      const Addend& addend = params.addend[i];
      if (!params.pairs[i] || addend.row_stride == 0) continue;
      const int bytes = element_bytes(addend.type), columns = n - column < K::config.tile_n ? n - column : K::config.tile_n;
      const char* from = static_cast<const char*>(addend.data) + (batch * addend.batch_stride + column) * bytes;
      const int thread = static_cast<int>(context.warp * 32 + context.lane), below = row + K::config.warpgroup_m();
      for (int r = row + thread; r < below && r < m; r += kWarpgroupThreads) {
        const char* line = from + r * addend.row_stride * bytes;
        HG_NO_UNROLL for (int at = 0; at < columns * bytes; at += kLine)
          arch::prefetch_to_l2(line + at);
      }
    }
  }

 private:
  // Two adjacent columns: of float, or of the bits of a bf16 or f16, which are T in memory.
  template <class T>
  using Two = std::conditional_t<sizeof(T) == 4, arch::Float2, uint32_t>;
  HG_DEVICE static arch::Float2 two(float low, float high) { return {low, high}; }
  HG_DEVICE static uint32_t two(uint16_t low, uint16_t high) { return low | static_cast<uint32_t>(high) << 16; }

  // Keeps what depends on a place from being computed before the step that needs it (spills at 192 accumulators).
  HG_DEVICE static int opaque(int place) { return static_cast<int>(arch::opaque(static_cast<uint32_t>(place))); }

  template <int kGroups, class Function>
  HG_DEVICE static void for_each(Fragment<kGroups>& part, Function function) {
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      HG_UNROLL for (int half = 0; half < 2; ++half) {
        Pair& pair = part.pairs[group][half];
        pair = {function(pair.low), function(pair.high)};
      }
    }
  }

  // What a thread needs of a row: columns `column` and the next, whose element is at `from`, and the same of every group.
  // `pairs`: all of them lie inside, adjacent and aligned as one.
  template <class T, int kGroups>
  HG_DEVICE void load_row(Two<T> (&row)[kGroups], const T* from, int64_t stride, int column, bool inside, bool pairs) const {
    if (pairs) {
      HG_UNROLL for (int group = 0; group < kGroups; ++group)
        row[group] = arch::load_global_if(reinterpret_cast<const Two<T>*>(from + 8 * group), inside);
    } else {
      HG_UNROLL for (int group = 0; group < kGroups; ++group) {
        const int at = column + group * 8;
        row[group] =
            two(arch::load_global_if(from, inside && at < n), arch::load_global_if(from + stride, inside && at + 1 < n));
        from += 8 * stride;
      }
    }
  }

  template <int kGroups>
  HG_DEVICE void scale(Fragment<kGroups>& part, int row, int column, bool whole) const {
    if (params.empty_sum) {
      arch::stay_branch();
      part = {};
    }
    row = opaque(row), column = opaque(column);
    const Scale &a = params.scale_a, &b = params.scale_b;
    float factors[2] = {params.alpha, params.alpha};
    if (a.data != nullptr) {
      HG_UNROLL for (int half = 0; half < 2; ++half)
        factors[half] *= arch::load_global_if(a.data + (row + 8 * half) * a.stride, row + 8 * half < m);
    }
    if (b.data != nullptr && b.stride == 0) {
      const float factor = arch::load_global_if(b.data, true);
      HG_UNROLL for (int half = 0; half < 2; ++half)
        factors[half] *= factor;
    }
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      HG_UNROLL for (int half = 0; half < 2; ++half) {
        Pair& pair = part.pairs[group][half];
        pair = {pair.low * factors[half], pair.high * factors[half]};
      }
    }
    if (b.data == nullptr || b.stride == 0) return;
    arch::Float2 of_columns[kGroups];
    load_row(of_columns, b.data + column * b.stride, b.stride, column, true, params.scale_b_pairs && whole);
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      HG_UNROLL for (int half = 0; half < 2; ++half) {
        Pair& pair = part.pairs[group][half];
        pair = {pair.low * of_columns[group].low, pair.high * of_columns[group].high};
      }
    }
  }

  // T is how an element lies in memory: float, or the bits of a bf16 or f16.
  template <class T, int kGroups>
  HG_DEVICE void add(Fragment<kGroups>& part, int index, int row, int column, bool whole) const {
    row = opaque(row), column = opaque(column);
    const Addend& addend = params.addend[index];
    const T* from = static_cast<const T*>(addend.data) + batch * addend.batch_stride + row * addend.row_stride +
                    column * addend.column_stride;
    // Both rows of a group at once, so that their loads are in flight together, if there are the registers.
    constexpr int kRows = sizeof(T) == 4 && K::config.free_registers() < 96 ? 1 : 2;
    HG_UNROLL for (int half = 0; half < 2; half += kRows) {
      Two<T> rows[kRows][kGroups];
      HG_UNROLL for (int i = 0; i < kRows; ++i) {
        load_row(rows[i], from, addend.column_stride, column, row + (half + i) * 8 < m, params.pairs[index] && whole);
        from += 8 * addend.row_stride;
      }
      const float factor = params.factor[index];
      if constexpr (sizeof(T) == 4) {
        add_rows(part, half, rows, factor, [](arch::Float2 both) { return Pair{both.low, both.high}; });
      } else if (addend.type == DataType::bf16) {
        add_rows(part, half, rows, factor, [](uint32_t both) { return Pair{arch::bf16_low(both), arch::bf16_high(both)}; });
      } else {
        add_rows(part, half, rows, factor, [](uint32_t both) { return Pair{arch::f16_low(both), arch::f16_high(both)}; });
      }
    }
  }
  template <int kRows, int kGroups, class TwoColumns, class Values>
  HG_DEVICE static void add_rows(Fragment<kGroups>& part, int half, const TwoColumns (&rows)[kRows][kGroups], float factor,
                                 Values values) {
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      HG_UNROLL for (int i = 0; i < kRows; ++i) {
        Pair& pair = part.pairs[group][half + i];
        const Pair added = values(rows[i][group]);
        pair = {pair.low + factor * added.low, pair.high + factor * added.high};
      }
    }
  }

  template <int kGroups>
  HG_DEVICE void activate(Fragment<kGroups>& part) const {
    using enum Activation;
    if (params.activation == none) return;
    if (params.activation == relu) for_each(part, activated<relu>);
    if (params.activation == gelu) for_each(part, activated<gelu>);
    if (params.activation == gelu_tanh) for_each(part, activated<gelu_tanh>);
    if (params.activation == silu) for_each(part, activated<silu>);
    if (params.activation == sigmoid) for_each(part, activated<sigmoid>);
  }
};

}  // namespace hopper_gemm
