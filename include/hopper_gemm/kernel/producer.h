// The producer role of the warp-specialised schedules: one elected thread loads the k-blocks of tile after tile, as far
// ahead as the ring allows.
#pragma once
#include "hopper_gemm/pipeline/tma_ring.h"
#include "hopper_gemm/scheduler/static_walk.h"

namespace hopper_gemm {

template <class K>
HG_DEVICE void produce(const Context<K>& context) {
  if (context.warp != 0 || !arch::elect_one()) return;
  typename TmaRing<K>::State state = {0, 1};
  auto walk = StaticWalk<K>::start(context.params);
  arch::annotate(arch::Activity::load, walk.index);
  Tile tile = walk.tile(context);
  auto order = KOrder<K>::of(context, tile);
  int loaded = TmaRing<K>::load_around_wait(context, state, tile, order);
  while (true) {
    HG_NO_UNROLL for (int i = loaded; i < order.count(); ++i)
      TmaRing<K>::load(context, state, tile, order.block(i));
    walk.advance();
    if (!walk.valid()) break;
    arch::annotate(arch::Activity::load, walk.index);
    tile = walk.tile(context);
    order = KOrder<K>::of(context, tile);
    loaded = 0;
  }
  arch::allow_next_grid();
  arch::annotate(arch::Activity::idle, 0);
}

// Splits the CTA into its roles and moves registers from the producer to the consumers where the config asks for it.
template <class K, class Consume>
HG_DEVICE void split_roles(const Context<K>& context, Consume consume) {
  constexpr KernelConfig c = K::config;
  if (context.is_producer()) {
    if constexpr (c.moves_registers()) arch::decrease_registers<c.producer_registers()>();
    produce(context);
  } else {
    if constexpr (c.moves_registers()) arch::increase_registers<c.consumer_registers()>();
    arch::wait_for_previous_grid();
    consume();
  }
}

}  // namespace hopper_gemm
