// The wgmmas of one stage, and the K loop over a ring of TMA-filled stages.
#pragma once
#include "hopper_gemm/core/swizzle.h"
#include "hopper_gemm/mainloop/accumulator.h"
#include "hopper_gemm/pipeline/tma_ring.h"

namespace hopper_gemm {

// The operands of a stage, as rows m_begin ... of the tile see them.
template <class K>
struct StageOperands {
  uint64_t a_descriptor, b_descriptor;

  HG_DEVICE static StageOperands make(const Context<K>& context, int stage, int m_begin) {
    constexpr OperandTile a = a_tile(K::config), b = b_tile(K::config);
    const uint32_t a_address = arch::shared_address(context.shared.a[stage]) + a.offset_bytes(m_begin, 0);
    return {a.descriptor() | descriptor_start(a_address),
            b.descriptor() | descriptor_start(arch::shared_address(context.shared.b[stage]))};
  }
  // One wgmma: 64 rows of block `block`, from element k of the stage on.
  HG_DEVICE void multiply(Accumulator<K>& acc, int block, int k, bool accumulate) const {
    constexpr KernelConfig c = K::config;
    constexpr OperandTile a = a_tile(c), b = b_tile(c);
    arch::wgmma<c.a_type, c.b_type, c.accumulator, c.tile_n, c.a_major, c.b_major>(
        acc.d[block], a_descriptor + (a.offset_bytes(block * kMmaM, k) >> 4), b_descriptor + (b.offset_bytes(0, k) >> 4),
        accumulate);
  }
};

// A stage of a promoting kernel: sums of promote_k elements of K, each added to the fp32 ones as soon as it is complete.
// Blocks are groups of their own: while one is added, the next is multiplied. Nothing is in flight on return.
template <class K>
HG_DEVICE void promote_stage(const StageOperands<K>& operands, Accumulator<K>& acc) {
  constexpr KernelConfig c = K::config;
  HG_UNROLL for (int part = 0; part < c.tile_k; part += c.promote_k) {
    acc.fence();
    arch::wgmma_fence();
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
      HG_UNROLL for (int k = 0; k < c.promote_k; k += c.mma_k())
        operands.multiply(acc, block, part + k, k > 0);
      arch::wgmma_commit();
    }
    acc.fence();
    if constexpr (c.mma_blocks() == 2) {
      arch::wgmma_wait<1>();
      acc.promote(0);
    }
    arch::wgmma_wait<0>();
    HG_UNROLL for (int block = c.mma_blocks() == 2 ? 1 : 0; block < c.mma_blocks(); ++block)
      acc.promote(block);
  }
}

// Issues and commits all wgmmas of `stage` for rows m_begin ... of the tile. `accumulate` false overwrites D (scale-d 0),
// so accumulators are never zeroed; promoted sums are, by begin_tile().
template <class K>
HG_DEVICE void issue_stage(const Context<K>& context, Accumulator<K>& acc, int stage, int m_begin, bool accumulate) {
  constexpr KernelConfig c = K::config;
  const auto operands = StageOperands<K>::make(context, stage, m_begin);
  if constexpr (c.promotes()) return promote_stage(operands, acc);
  acc.fence();
  arch::wgmma_fence();
  HG_UNROLL for (int k = 0; k < c.tile_k; k += c.mma_k()) {
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block)
      operands.multiply(acc, block, k, k > 0 || accumulate);
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
