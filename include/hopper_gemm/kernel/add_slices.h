// The second half of a product whose K extent was cut into slices: sums the slices' results, which lie one after the other
// in a workspace, in the order of K, and stores the sums as any product's (rounding, epilogue options, either order).
// A launch of its own: no CTA waits for another, the order of the sum is fixed, and nothing has to be reset.
//
// GemmParams: a = the workspace (f32), a_pitch = its rows, a_batch = from slice to slice, k = slices; the rest as ever.
#pragma once
#include "hopper_gemm/core/slice_sum.h"
#include "hopper_gemm/epilogue/epilogue.h"
#include "hopper_gemm/scheduler/static_walk.h"

namespace hopper_gemm {

template <OutputOrder kOrder, int kAtOnce>
struct SliceSum {
  static constexpr KernelConfig config = slice_sum_config(kOrder);
  static constexpr int at_once = kAtOnce;
};

// What `of` makes of one of the kernels of an order.
template <class F>
auto with_slice_sum(OutputOrder order, int index, F&& of) {
  const auto with = [&]<int kAtOnce>() {
    return order == OutputOrder::row_major ? of(SliceSum<OutputOrder::row_major, kAtOnce>{})
                                           : of(SliceSum<OutputOrder::column_major, kAtOnce>{});
  };
  switch (index) {
    case 0: return with.template operator()<kSlicesAtOnce[0]>();
    case 1: return with.template operator()<kSlicesAtOnce[1]>();
    default: return with.template operator()<kSlicesAtOnce[2]>();
  }
}

template <class K>
struct SliceLoad {
  static constexpr KernelConfig c = K::config;
  static_assert(c.mma_registers() == 4, "a thread has two rows of two columns");

  const float* at[4];  // this thread's elements in the first slice
  bool inside[4];

  HG_DEVICE static SliceLoad make(const Context<K>& context, int m_begin, int n_begin) {
    const GemmParams& params = context.params;
    SliceLoad load;
    HG_UNROLL for (int i = 0; i < 4; ++i) {
      const int row = m_begin + static_cast<int>(context.warp * 16 + context.lane / 4) + i / 2 * 8;
      const int column = n_begin + static_cast<int>(context.lane % 4) * 2 + i % 2;
      load.inside[i] = row < params.m && column < params.n;
      load.at[i] = static_cast<const float*>(params.a) +
                   (c.is_row_major() ? row * params.a_pitch + column : column * params.a_pitch + row);
    }
    return load;
  }

  HG_DEVICE void add(Accumulator<K>& acc, int slices, int64_t stride) const {
    HG_UNROLL for (int i = 0; i < 4; ++i)
      acc.d[0][i] = 0;
    for (int slice = 0; slice < slices; slice += K::at_once) add_next(acc, slice, slices, stride);
  }

 private:
  // All loads before the first sum, also where fewer slices are left. A sum that began at +0 is not changed by the zeros of slices
  // that there are not.
  HG_DEVICE void add_next(Accumulator<K>& acc, int first, int slices, int64_t stride) const {
    float found[K::at_once][4];
    HG_UNROLL for (int s = 0; s < K::at_once; ++s) {
      HG_UNROLL for (int i = 0; i < 4; ++i)
        found[s][i] = arch::load_global_if(at[i] + (first + s) * stride, inside[i] && first + s < slices);
    }
    HG_UNROLL for (int s = 0; s < K::at_once; ++s) {
      HG_UNROLL for (int i = 0; i < 4; ++i)
        acc.d[0][i] += found[s][i];
    }
  }
};

template <class K>
HG_KERNEL(K::config.threads())
add_slices_kernel(HG_PARAM(GemmParams) params) {
  constexpr KernelConfig c = K::config;
  const auto context = Context<K>::make(params);
  const Tile tile = StaticWalk<K>::start(params).tile(context);
  const auto load = SliceLoad<K>::make(context, tile.m * c.tile_m, tile.n * c.tile_n);
  arch::wait_for_previous_grid();  // nothing above touches global memory
  arch::allow_next_grid();
  Accumulator<K> acc;
  load.add(acc, params.k, params.a_batch);
  Epilogue<K>::make(context).store(acc, tile.m * c.tile_m, tile.n * c.tile_n, tile.batch);
}

}  // namespace hopper_gemm
