// The run-time operations on a part of a tile between the sums and the rounding (core/epilogue_params.h has the formula).
// Step by step over the whole part, so that the loads of a step are in flight together. Every branch is warp-uniform.
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
    row += static_cast<int>(context.warp * 16 + context.lane / 4);
    column += static_cast<int>(context.lane % 4 * 2);
    scale(part, row, column);
    HG_NO_UNROLL for (int i = 0; i < EpilogueParams::kAddends; ++i) {
      if (i == EpilogueParams::kActivationBefore) activate(part);
      if (params.addend[i].data == nullptr) continue;
      if (params.addend[i].type == DataType::f32) {
        add<float>(part, params.addend[i], params.factor[i], row, column);
      } else {
        add<uint16_t>(part, params.addend[i], params.factor[i], row, column);
      }
    }
    if (params.scale_result != nullptr) {
      const float factor = arch::load_global_if(params.scale_result, true);
      for_each(part, [&](float value) { return value * factor; });
    }
  }

 private:
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

  template <int kGroups>
  HG_DEVICE void scale(Fragment<kGroups>& part, int row, int column) const {
    row = opaque(row), column = opaque(column);
    float upper = params.alpha, lower = params.alpha;
    if (params.scale_a.data != nullptr) {
      upper *= arch::load_global_if(params.scale_a.data + row * params.scale_a.stride, row < m);
      lower *= arch::load_global_if(params.scale_a.data + (row + 8) * params.scale_a.stride, row + 8 < m);
    }
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      Pair& first = part.pairs[group][0];
      Pair& second = part.pairs[group][1];
      first = {first.low * upper, first.high * upper};
      second = {second.low * lower, second.high * lower};
    }
    if (params.scale_b.data == nullptr) return;
    const float* from = params.scale_b.data + column * params.scale_b.stride;
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      const int at = column + group * 8;
      const float low = arch::load_global_if(from, at < n);
      const float high = arch::load_global_if(from + params.scale_b.stride, at + 1 < n);
      HG_UNROLL for (int half = 0; half < 2; ++half) {
        Pair& pair = part.pairs[group][half];
        pair = {pair.low * low, pair.high * high};
      }
      from += 8 * params.scale_b.stride;
    }
  }

  // T is how an element lies in memory: float, or the bits of a bf16 or f16.
  template <class T, int kGroups>
  HG_DEVICE void add(Fragment<kGroups>& part, const Addend& addend, float factor, int row, int column) const {
    row = opaque(row), column = opaque(column);
    const T* first = static_cast<const T*>(addend.data) + batch * addend.batch_stride + row * addend.row_stride +
                     column * addend.column_stride;
    const bool is_bf16 = addend.type == DataType::bf16;
    const T* second = first + 8 * addend.row_stride;
    const int64_t step = 8 * addend.column_stride;
    HG_UNROLL for (int group = 0; group < kGroups; ++group) {
      const int at = column + group * 8;
      HG_UNROLL for (int half = 0; half < 2; ++half) {
        const T* from = half == 0 ? first : second;
        const bool inside = row + half * 8 < m;
        Pair& pair = part.pairs[group][half];
        pair.low += factor * value(arch::load_global_if(from, inside && at < n), is_bf16);
        pair.high += factor * value(arch::load_global_if(from + addend.column_stride, inside && at + 1 < n), is_bf16);
      }
      first += step;
      second += step;
    }
  }
  HG_DEVICE static float value(float element, bool) { return element; }
  HG_DEVICE static float value(uint16_t bits, bool is_bf16) { return is_bf16 ? arch::bf16_low(bits) : arch::f16_low(bits); }

  template <int kGroups>
  HG_DEVICE void activate(Fragment<kGroups>& part) const {
    using enum Activation;
    if (params.activation == relu) for_each(part, activated<relu>);
    if (params.activation == gelu) for_each(part, activated<gelu>);
    if (params.activation == gelu_tanh) for_each(part, activated<gelu_tanh>);
    if (params.activation == silu) for_each(part, activated<silu>);
    if (params.activation == sigmoid) for_each(part, activated<sigmoid>);
  }
};

}  // namespace hopper_gemm
