// KernelTmaWarpSpecializedPingpong: persistent; two consumer warpgroups work on alternating tiles. They take turns in the
// mainloop and in the epilogue (pipeline/order.h), so the epilogue of one hides under the mainloop of the other.
#pragma once
#include "hopper_gemm/epilogue/epilogue.h"
#include "hopper_gemm/kernel/producer.h"
#include "hopper_gemm/mainloop/mma.h"
#include "hopper_gemm/pipeline/order.h"

namespace hopper_gemm {

template <class K>
struct Pingpong {
  static constexpr KernelConfig c = K::config;

  HG_DEVICE static void run(const Context<K>& context) {
    split_roles(context, [&] { consume(context); });
  }

  // The ring holds the k-blocks of all tiles in order: each warpgroup passes over the other's.
  HG_DEVICE static void consume(const Context<K>& context) {
    const int k_blocks = context.k_blocks();
    const auto epilogue = Epilogue<K>::make(context);
    auto order = Order<K>::start(context);
    Accumulator<K> acc;
    typename TmaRing<K>::State state = {0, 0};
    auto walk = StaticWalk<K>::start(context.params);
    if (context.warpgroup == 1) {
      walk.advance();
      state.advance(k_blocks);
    }

    for (; walk.valid(); walk.advance(2)) {
      const Tile tile = walk.tile(context);
      epilogue.prefetch(tile.m * c.tile_m, tile.n * c.tile_n, tile.batch);
      order.wait_mainloop(context);
      arch::annotate(arch::Activity::mainloop, walk.index);
      issue_tile(context, acc, state, 0, k_blocks);
      order.pass_mainloop(context);
      retire_tile(context, acc, state);
      state.advance(k_blocks);
      order.wait_epilogue(context);
      arch::annotate(arch::Activity::epilogue, walk.index);
      epilogue.store(acc, tile.m * c.tile_m, tile.n * c.tile_n, tile.batch);
      arch::annotate(arch::Activity::idle, 0);
      order.pass_epilogue(context);
      order.advance();
    }
    epilogue.finish();
  }
};

}  // namespace hopper_gemm
