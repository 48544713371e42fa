// The ring of stages between TMA loads and wgmma.
//
//   barrier   who arrives                                              how many             who waits
//   full[s]   the loading thread of this CTA (arrive.expect_tx of the  1 + loaded bytes     every consumer warp
//             stage's loads, its peers' multicast slices included)
//   empty[s]  each consumer warp of every CTA this CTA multicasts      4 x consumers x      the loading thread
//             into (its cluster row and column, itself once)           (cm + cn - 1)
//             [pingpong: one warpgroup consumes a stage, so 4 x 1 x ...]
#pragma once
#include "hopper_gemm/kernel/context.h"
#include "hopper_gemm/mainloop/k_order.h"
#include "hopper_gemm/mainloop/tma_load.h"
#include "hopper_gemm/pipeline/ring.h"

namespace hopper_gemm {

template <class K>
struct TmaRing {
  static constexpr KernelConfig c = K::config;
  using State = RingState<c.stages>;

  // One thread; make it visible with barrier_init_fence and a cluster-wide barrier.
  HG_DEVICE static void init(SharedPlan<K>& shared) {
    for (int stage = 0; stage < c.stages; ++stage) {
      arch::barrier_init(shared.full[stage], c.full_arrivals());
      arch::barrier_init(shared.empty[stage], c.empty_arrivals());
    }
  }

  // One thread: waits for the stage to be empty and fills it with k-block `k_block` of the tile.
  HG_DEVICE static void load(const Context<K>& context, State& state, Tile tile, int k_block) {
    SharedPlan<K>& shared = context.shared;
    const int stage = state.stage;
    arch::barrier_wait(shared.empty[stage], state.phase, {arch::Wait::empty, stage});
    arch::barrier_arrive_expect(shared.full[stage], loaded_bytes<K>(context.params, tile));
    load_a(context, stage, tile, k_block);
    load_b(context, stage, tile, k_block);
    state.advance();
  }

  // The same in two steps, for the first round of the ring, whose stages are empty: a static operand, then the other one.
  HG_DEVICE static void begin_load(const Context<K>& context, int stage, Tile tile, int k_block, StaticOperand operand) {
    arch::barrier_arrive_expect(context.shared.full[stage], loaded_bytes<K>(context.params, tile));
    if (operand == StaticOperand::a) load_a(context, stage, tile, k_block);
    if (operand == StaticOperand::b) load_b(context, stage, tile, k_block);
  }
  HG_DEVICE static void finish_load(const Context<K>& context, State& state, Tile tile, int k_block, StaticOperand operand) {
    if (operand == StaticOperand::a) load_b(context, state.stage, tile, k_block);
    if (operand == StaticOperand::b) load_a(context, state.stage, tile, k_block);
    state.advance();
  }

  // One thread, instead of wait_for_previous_grid. With a static operand: the first round of the ring around that wait, so that
  // the operand comes from memory while the grid before still runs, which lets this one start as soon as its own wait is over,
  // if its operand is static too. Returns how many k-blocks that are: 0 without one, because then announcing the stages before
  // the first load is issued costs 0.2 us of every kernel (1024^3, H200, benchmarks/results/suite_layouts.json).
  HG_DEVICE static int load_around_wait(const Context<K>& context, State& state, Tile tile, KOrder<K> order) {
    const StaticOperand operand = context.params.static_operand;
    const int blocks = operand == StaticOperand::none ? 0 : order.count() < c.stages ? order.count() : c.stages;
    HG_NO_UNROLL for (int i = 0; i < blocks; ++i)
      begin_load(context, i, tile, order.block(i), operand);
    arch::wait_for_previous_grid();
    if (operand != StaticOperand::none) arch::allow_next_grid();  // not sooner: it may load what the grid before writes
    HG_NO_UNROLL for (int i = 0; i < blocks; ++i)
      finish_load(context, state, tile, order.block(i), operand);
    return blocks;
  }

  HG_DEVICE static void wait_full(const Context<K>& context, const State& state) {
    arch::barrier_wait(context.shared.full[state.stage], state.phase, {arch::Wait::full, state.stage});
  }

  // A consumer warp gives the stage back to every CTA that writes into it, one lane a CTA.
  HG_DEVICE static void release(const Context<K>& context, int stage) {
    arch::Barrier& empty = context.shared.empty[stage];
    if constexpr (c.releasing_ctas() == 1) {
      if (context.lane == 0) arch::barrier_arrive(empty);
    } else {
      if (context.lane < c.releasing_ctas()) arch::barrier_arrive_cluster(empty, writer_rank(context));
    }
  }

 private:
  // The lane-th CTA that writes into this one: first its cluster row (itself included), then the rest of its column.
  HG_DEVICE static uint32_t writer_rank(const Context<K>& context) {
    const ClusterPlace place = context.place;
    if (context.lane < c.cluster_n) return place.m + c.cluster_m * context.lane;
    const uint32_t other = context.lane - c.cluster_n;
    return other + (other >= place.m ? 1 : 0) + c.cluster_m * place.n;
  }
};

}  // namespace hopper_gemm
