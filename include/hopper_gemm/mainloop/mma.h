// The wgmmas of one stage, and the K loop over a ring of TMA-filled stages.
#pragma once
#include "hopper_gemm/mainloop/promotion.h"

namespace hopper_gemm {

// Issues and commits all wgmmas of `stage` for rows m_begin ... of the tile. `accumulate` false overwrites D (scale-d 0),
// so accumulators are never zeroed; promoted sums are, by begin_tile().
template <class K>
HG_DEVICE void issue_stage(const Context<K>& context, Accumulator<K>& acc, int stage, int m_begin, bool accumulate) {
  constexpr KernelConfig c = K::config;
  const auto operands = StageOperands<K>::make(context, stage, m_begin);
  if constexpr (c.promotes()) return issue_promoted_stage(operands, acc);
  acc.fence();
  arch::wgmma_fence();
  HG_UNROLL for (int k = 0; k < c.tile_k; k += c.mma_k()) {
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block)
      operands.multiply(acc.d[block], block, k, k > 0 || accumulate);
  }
  arch::wgmma_commit();
  acc.fence();
}

// Issues the wgmmas of all k-blocks of a tile. One group stays in flight (mmas_in_flight), so a stage is released one
// iteration late; the last one is still unfinished on return: retire_tile() waits for it and releases its stage.
template <class K>
HG_DEVICE void issue_tile(const Context<K>& context, Accumulator<K>& acc, typename TmaRing<K>::State& state, int m_begin,
                          int k_blocks) {
  constexpr KernelConfig c = K::config;
  acc.begin_tile();
  HG_NO_UNROLL for (int k_block = 0; k_block < k_blocks; ++k_block) {
    TmaRing<K>::wait_full(context, state);
    issue_stage(context, acc, state.stage, m_begin, k_block > 0);
    arch::wgmma_wait<c.mmas_in_flight>();
    if constexpr (c.mmas_in_flight == 0) {
      TmaRing<K>::release(context, state.stage);
    } else {
      if (k_block > 0) TmaRing<K>::release(context, state.previous_stage());
    }
    state.advance();
  }
}

template <class K>
HG_DEVICE void retire_tile(const Context<K>& context, Accumulator<K>& acc, const typename TmaRing<K>::State& state) {
  arch::wgmma_wait<0>();
  acc.fence();
  if constexpr (K::config.mmas_in_flight > 0) TmaRing<K>::release(context, state.previous_stage());
}

}  // namespace hopper_gemm
