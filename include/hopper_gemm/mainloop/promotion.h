// The main loop of kernels that promote (fp8, 3xTF32): wgmma sums promote_k elements of K, and each such sum is added to an
// fp32 one outside the tensor core, whose own sums have 14 bits (fp8) or are cut instead of rounded (docs/accuracy.md).
#pragma once
#include "hopper_gemm/mainloop/stage_operands.h"

namespace hopper_gemm {

// Half of the columns after the other, with one set: while it is added, the other warpgroup multiplies.
template <class K>
HG_DEVICE void issue_halves(const StageOperands<K>& operands, Accumulator<K>& acc, int part) {
  constexpr KernelConfig c = K::config;
  HG_UNROLL for (int half = 0; half < 2; ++half) {
    acc.fence();
    arch::wgmma_fence();
    HG_UNROLL for (int k = 0; k < c.promote_k; k += c.mma_k())
      operands.multiply(acc.d[0], 0, part + k, k > 0, half * c.mma_n());
    arch::wgmma_commit();
    acc.fence();
    arch::wgmma_wait<0>();
    acc.promote(0, 0, half);
  }
}

// All sums of a stage; nothing is in flight on return. Blocks are groups of their own: while one is added, the next is
// multiplied.
template <class K>
HG_DEVICE void issue_promoted_stage(const StageOperands<K>& operands, Accumulator<K>& acc) {
  constexpr KernelConfig c = K::config;
  HG_UNROLL for (int part = 0; part < c.tile_k; part += c.promote_k) {
    if constexpr (c.halves_columns()) {
      issue_halves(operands, acc, part);
      continue;
    }
    acc.fence();
    arch::wgmma_fence();
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
      HG_UNROLL for (int k = 0; k < c.promote_k; k += c.mma_k())
        operands.multiply(acc.d[block], block, part + k, k > 0);
      arch::wgmma_commit();
    }
    acc.fence();
    if constexpr (c.mma_blocks() == 2) {
      arch::wgmma_wait<1>();
      acc.promote(0, 0);
    }
    arch::wgmma_wait<0>();
    HG_UNROLL for (int block = c.mma_blocks() == 2 ? 1 : 0; block < c.mma_blocks(); ++block)
      acc.promote(block, block);
  }
}

// The sum of a stage into one set, of a kernel that alternates.
template <int kSet, class K>
HG_DEVICE void issue_set(const Context<K>& context, Accumulator<K>& acc, typename TmaRing<K>::State& state, int m_begin) {
  constexpr KernelConfig c = K::config;
  TmaRing<K>::wait_full(context, state);
  const auto operands = StageOperands<K>::make(context, state.stage, m_begin);
  arch::register_fence(acc.d[kSet]);
  arch::wgmma_fence();
  HG_UNROLL for (int k = 0; k < c.promote_k; k += c.mma_k())
    operands.multiply(acc.d[kSet], 0, k, k > 0);
  arch::wgmma_commit();
  arch::register_fence(acc.d[kSet]);
}

// Multiplies a stage into one set while the other, of the stage before, is added; releases that stage.
template <int kSet, class K>
HG_DEVICE void alternate(const Context<K>& context, Accumulator<K>& acc, typename TmaRing<K>::State& state, int m_begin) {
  issue_set<kSet>(context, acc, state, m_begin);
  arch::wgmma_wait<1>();
  TmaRing<K>::release(context, state.previous_stage());
  acc.promote(0, 1 - kSet);
  state.advance();
}

template <int kSet, class K>
HG_DEVICE void finish_alternating(const Context<K>& context, Accumulator<K>& acc, const typename TmaRing<K>::State& state) {
  arch::wgmma_wait<0>();
  TmaRing<K>::release(context, state.previous_stage());
  acc.promote(0, kSet);
}

// issue_tile (mma.h) of a kernel that alternates: two k-blocks an iteration, so that the sets have constant indices. One group
// is in flight wherever the loop begins: ptxas serialises the wgmmas otherwise (C7514). None is on return.
template <class K>
  requires(K::config.alternates())
HG_DEVICE void issue_tile(const Context<K>& context, Accumulator<K>& acc, typename TmaRing<K>::State& state, int m_begin,
                          int k_blocks) {
  acc.begin_tile();
  if (k_blocks == 0) return;
  issue_set<0>(context, acc, state, m_begin);
  state.advance();
  int k_block = 1;
  HG_NO_UNROLL for (; k_block + 1 < k_blocks; k_block += 2) {
    alternate<1>(context, acc, state, m_begin);
    alternate<0>(context, acc, state, m_begin);
  }
  if (k_block < k_blocks) {
    alternate<1>(context, acc, state, m_begin);
    finish_alternating<1>(context, acc, state);
  } else {
    finish_alternating<0>(context, acc, state);
  }
}

}  // namespace hopper_gemm
