// KernelTma: the computing warpgroups load for themselves. One elected thread of warpgroup 0 issues the TMA loads, a ring
// ahead of the wgmmas; no producer role, no register reallocation. One tile per CTA; grid = tiles.
#pragma once
#include "hopper_gemm/epilogue/epilogue.h"
#include "hopper_gemm/mainloop/mma.h"
#include "hopper_gemm/scheduler/static_walk.h"

namespace hopper_gemm {

template <class K>
struct TmaKernel {
  static constexpr KernelConfig c = K::config;
  using Ring = TmaRing<K>;

  HG_DEVICE static bool loads(const Context<K>& context) {
    return context.warpgroup == 0 && context.warp == 0 && arch::elect_one();
  }

  HG_DEVICE static void load(const Context<K>& context, typename Ring::State& state, Tile tile, KOrder<K> order, int i) {
    if (i < order.count() && loads(context)) {
      typename Ring::State elected = state;
      Ring::load(context, elected, tile, order.block(i));
    }
    state.advance();
  }

  HG_DEVICE static void run(const Context<K>& context) {
    const Tile tile = StaticWalk<K>::start(context.params).tile(context);
    const auto order = KOrder<K>::of(context, tile);
    const int k_blocks = order.count();
    const int warpgroup_row = static_cast<int>(context.warpgroup) * c.warpgroup_m();
    const auto epilogue = Epilogue<K>::make(context);
    Accumulator<K> acc;

    arch::annotate(arch::Activity::mainloop, 0);
    typename Ring::State loaded = {0, 1}, state = {0, 0};
    if (context.params.static_operand == StaticOperand::none) {
      arch::wait_for_previous_grid();
      for (int i = 0; i < c.stages; ++i) load(context, loaded, tile, order, i);
    } else {
      if (loads(context)) {
        typename Ring::State elected = loaded;
        Ring::load_around_wait(context, elected, tile, order);
      } else {
        arch::wait_for_previous_grid();
      }
      loaded.advance(c.stages);
    }
    acc.begin_tile();
    HG_NO_UNROLL for (int k_block = 0; k_block < k_blocks; ++k_block) {
      Ring::wait_full(context, state);
      issue_stage(context, acc, state.stage, warpgroup_row, k_block > 0);
      arch::wgmma_wait<c.mmas_in_flight>();
      const int retired = k_block - c.mmas_in_flight;
      if (retired >= 0) {
        Ring::release(context, c.mmas_in_flight == 0 ? state.stage : state.previous_stage());
        load(context, loaded, tile, order, retired + c.stages);
      }
      state.advance();
    }
    arch::allow_next_grid();
    retire_tile(context, acc, state);
    arch::annotate(arch::Activity::epilogue, 0);
    epilogue.store(acc, tile.m * c.tile_m + warpgroup_row, tile.n * c.tile_n, tile.batch);
    epilogue.finish();
    arch::annotate(arch::Activity::idle, 0);
  }
};

}  // namespace hopper_gemm
