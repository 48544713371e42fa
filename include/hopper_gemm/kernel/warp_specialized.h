// KernelTmaWarpSpecialized: a producer warpgroup loads, consumer warpgroups compute one tile. One tile per CTA; grid = tiles.
#pragma once
#include "hopper_gemm/epilogue/cluster_reduce.h"
#include "hopper_gemm/epilogue/epilogue.h"
#include "hopper_gemm/kernel/producer.h"
#include "hopper_gemm/mainloop/mma.h"

namespace hopper_gemm {

template <class K>
struct WarpSpecialized {
  static constexpr KernelConfig c = K::config;

  HG_DEVICE static void run(const Context<K>& context) {
    if constexpr (c.splits_k()) {
      run_split(context);
    } else {
      split_roles(context, [&] { consume(context); });
    }
  }

  // The CTAs of a cluster share the K extent of one tile.
  HG_DEVICE static void run_split(const Context<K>& context) {
    const Tile tile = StaticWalk<K>::start(context.params).tile(context);
    const int warpgroup_row = static_cast<int>(context.warpgroup) * c.warpgroup_m();
    const ClusterReduce<K> reduce{context};
    split_roles(context, [&] {
      Accumulator<K> acc;
      typename TmaRing<K>::State state = {0, 0};
      arch::annotate(arch::Activity::mainloop, 0);
      const int k_blocks = context.k_blocks();
      issue_tile(context, acc, state, warpgroup_row, k_blocks);
      arch::wgmma_wait<0>();  // unconditional, or ptxas serialises (C7514); nobody waits for the last stage
      acc.fence();
      reduce.publish(acc, k_blocks > 0);
    });
    sync_cluster<K>();
    if (context.is_producer()) return;
    arch::annotate(arch::Activity::epilogue, 0);
    reduce.reduce_and_store(tile.m * c.tile_m + warpgroup_row, tile.n * c.tile_n, tile.batch);
    arch::annotate(arch::Activity::idle, 0);
  }

  HG_DEVICE static void consume(const Context<K>& context) {
    const Tile tile = StaticWalk<K>::start(context.params).tile(context);
    const int warpgroup_row = static_cast<int>(context.warpgroup) * c.warpgroup_m();
    const auto epilogue = Epilogue<K>::make(context);
    Accumulator<K> acc;
    typename TmaRing<K>::State state = {0, 0};

    epilogue.prefetch(tile.m * c.tile_m + warpgroup_row, tile.n * c.tile_n, tile.batch);
    arch::annotate(arch::Activity::mainloop, 0);
    issue_tile(context, acc, state, warpgroup_row, context.k_blocks());
    retire_tile(context, acc, state);
    arch::annotate(arch::Activity::epilogue, 0);
    epilogue.store(acc, tile.m * c.tile_m + warpgroup_row, tile.n * c.tile_n, tile.batch);
    epilogue.finish();
    arch::annotate(arch::Activity::idle, 0);
  }
};

}  // namespace hopper_gemm
