// KernelTmaWarpSpecializedCooperative: persistent; the consumer warpgroups split the rows of every tile between them. The
// producer runs ahead into the next tile while the consumers are in the epilogue.
#pragma once
#include "hopper_gemm/epilogue/epilogue.h"
#include "hopper_gemm/kernel/producer.h"
#include "hopper_gemm/mainloop/mma.h"

namespace hopper_gemm {

template <class K>
struct Cooperative {
  static constexpr KernelConfig c = K::config;

  HG_DEVICE static void run(const Context<K>& context) {
    split_roles(context, [&] { consume(context); });
  }

  HG_DEVICE static void consume(const Context<K>& context) {
    const int k_blocks = context.k_blocks();
    const int warpgroup_row = static_cast<int>(context.warpgroup) * c.warpgroup_m();
    const auto epilogue = Epilogue<K>::make(context);
    Accumulator<K> acc;
    typename TmaRing<K>::State state = {0, 0};  // carried across tiles: the ring does not restart

    for (auto walk = StaticWalk<K>::start(context.params); walk.valid(); walk.advance()) {
      const Tile tile = walk.tile(context);
      epilogue.prefetch(tile.m * c.tile_m + warpgroup_row, tile.n * c.tile_n, tile.batch);
      arch::annotate(arch::Activity::mainloop, walk.index);
      issue_tile(context, acc, state, warpgroup_row, k_blocks);
      retire_tile(context, acc, state);
      arch::annotate(arch::Activity::epilogue, walk.index);
      epilogue.store(acc, tile.m * c.tile_m + warpgroup_row, tile.n * c.tile_n, tile.batch);
    }
    epilogue.finish();
    arch::annotate(arch::Activity::idle, 0);
  }
};

}  // namespace hopper_gemm
