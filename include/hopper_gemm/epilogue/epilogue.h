// One warpgroup's accumulators to the output: plain products that can take the TMA store have a path of their own, unrolled,
// also with a bias for the columns; everything else goes in parts. The accumulators are left in any state.
#pragma once
#include "hopper_gemm/epilogue/column_bias.h"
#include "hopper_gemm/epilogue/store_parts.h"
#include "hopper_gemm/epilogue/store_tma.h"

namespace hopper_gemm {

template <class K>
struct Epilogue {
  static constexpr KernelConfig c = K::config;
  const Context<K>& context;
  bool is_issuer;

  HG_DEVICE static Epilogue make(const Context<K>& context) {
    return {context, c.store == Store::tma && context.warp == 0 && arch::elect_one()};
  }

  // Before a tile is multiplied: what its epilogue will read.
  HG_DEVICE void prefetch(int m_begin, int n_begin, int batch) const {
    if constexpr (c.takes_options()) {
      if (!context.params.epilogue.plain) Operations<K>::make(context, batch).prefetch(m_begin, n_begin);
    }
  }

  // Rows m_begin ..., columns n_begin ... of the output `batch`.
  HG_DEVICE void store(Accumulator<K>& acc, int m_begin, int n_begin, int batch) const {
    const GemmParams& params = context.params;
    if constexpr (c.store == Store::tma) {
      bool whole = params.epilogue.plain;
      if constexpr (ColumnBias<K>::kPossible) {
        if (params.epilogue.column_bias) {
          ColumnBias<K>{context, batch}.add_to(acc, n_begin);
          whole = true;
        }
      }
      if (params.store == Store::tma && whole) {
        const PanelStore<K> panels{context, is_issuer, batch};
        if (params.out_type == DataType::bf16) {
          panels.template store<DataType::bf16>(acc, m_begin, n_begin);
        } else {
          panels.template store<DataType::f16>(acc, m_begin, n_begin);
        }
        return;
      }
    }
    PartsStore<K>{context, is_issuer, batch}.store(acc, m_begin, n_begin);
  }

  // Before the CTA exits: its shared memory must have been read by every store.
  HG_DEVICE void finish() const {
    if constexpr (c.store == Store::tma) {
      if (is_issuer) arch::tma_store_wait_read<0>();
    }
  }
};

}  // namespace hopper_gemm
