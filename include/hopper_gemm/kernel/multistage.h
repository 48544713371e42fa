// KernelMultistage: every thread copies (cp.async) and computes (wgmma). No TMA, no producer, no clusters: cp.async cannot
// write into a peer's shared memory. One tile per CTA; grid = tiles.
//
// Ring protocol, with F = mmas_in_flight. At iteration i, after the CTA barrier:
//   block i has arrived for all threads  (each waited for its own cp.async group, rounded tf32, fenced it, then met the barrier)
//   block i - 1 - F is retired by all warpgroups  (each left at most F wgmma groups in flight at iteration i - 1)
// so block i + stages - 1 - F goes into the stage of block i - 1 - F.
#pragma once
#include "hopper_gemm/epilogue/epilogue.h"
#include "hopper_gemm/mainloop/cp_async_load.h"
#include "hopper_gemm/mainloop/mma.h"
#include "hopper_gemm/scheduler/static_walk.h"

namespace hopper_gemm {

template <class K>
struct Multistage {
  static constexpr KernelConfig c = K::config;
  static constexpr int kAhead = c.stages - 1 - c.mmas_in_flight;  // blocks copied before they are used

  // Empty groups past the last block keep the count of groups right.
  HG_DEVICE static void copy(const Context<K>& context, Tile tile, int stage, int k_block, int k_blocks) {
    if (k_block < k_blocks) copy_tiles(context, stage, tile, k_block);
    arch::cp_async_commit();
  }

  HG_DEVICE static void run(const Context<K>& context) {
    const Tile tile = StaticWalk<K>::start(context.params).tile(context);
    const int k_blocks = context.k_blocks();
    const int warpgroup_row = static_cast<int>(context.warpgroup) * c.warpgroup_m();
    const auto epilogue = Epilogue<K>::make(context);
    Accumulator<K> acc;

    arch::wait_for_previous_grid();
    arch::annotate(arch::Activity::mainloop, 0);
    RingState<c.stages> copied = {0, 0};
    for (int k_block = 0; k_block < kAhead; ++k_block) {
      copy(context, tile, copied.stage, k_block, k_blocks);
      copied.advance();
    }
    RingState<c.stages> state = {0, 0};
    acc.begin_tile();
    HG_NO_UNROLL for (int k_block = 0; k_block < k_blocks; ++k_block) {
      arch::cp_async_wait<kAhead - 1>();
      round_copied(context, state.stage);
      arch::async_proxy_fence();
      arch::cta_sync();
      issue_stage(context, acc, state.stage, warpgroup_row, k_block > 0);
      copy(context, tile, copied.stage, k_block + kAhead, k_blocks);
      arch::wgmma_wait<c.mmas_in_flight>();
      state.advance();
      copied.advance();
    }
    arch::allow_next_grid();
    arch::wgmma_wait<0>();
    acc.fence();
    arch::annotate(arch::Activity::epilogue, 0);
    epilogue.store(acc, tile.m * c.tile_m + warpgroup_row, tile.n * c.tile_n, tile.batch);
    epilogue.finish();
    arch::annotate(arch::Activity::idle, 0);
  }
};

}  // namespace hopper_gemm
