// The epilogue in parts of one panel each: through the operations, if there are any, then down one of the store paths. The loop
// over the parts is not unrolled, which keeps all of it to one copy in a kernel: it works in the place of the first part, and
// each later one is copied there (mainloop/accumulator.h).
#pragma once
#include "hopper_gemm/epilogue/operations.h"
#include "hopper_gemm/epilogue/store_direct.h"
#include "hopper_gemm/epilogue/store_rows.h"
#include "hopper_gemm/epilogue/store_tma.h"

namespace hopper_gemm {

template <class K>
struct PartsStore {
  static constexpr KernelConfig c = K::config;
  static constexpr int kPanels = c.tile_n / c.panel_n();
  static constexpr int kGroups = c.panel_n() / 8;

  const Context<K>& context;
  bool is_issuer;
  int batch;

  HG_DEVICE void store(Accumulator<K>& acc, int m_begin, int n_begin) const {
    if constexpr (c.store == Store::tma) {
      if (context.params.store != Store::direct) PanelStore<K>{context, is_issuer, batch}.begin();
    }
    HG_NO_UNROLL for (int index = 0; index < c.mma_blocks() * kPanels;) {
      // Places are computed here, for this part: kept in registers across the loops they cost spills at 192 accumulators.
      Context<K> here = context;
      here.lane = arch::opaque(context.lane);
      const int row = m_begin + index / kPanels * kMmaM, column = n_begin + index % kPanels * c.panel_n();
      auto part = acc.template fragment<kGroups>(0);
      PartsStore{here, is_issuer, batch}.store_part(part, index, row, column);
      acc.bring(part, ++index);
    }
  }

 private:
  HG_DEVICE void store_part(Fragment<kGroups>& part, int index, int row, int column) const {
    const GemmParams& params = context.params;
    if constexpr (c.takes_options()) {
      if (!params.epilogue.plain) Operations<K>::make(context, batch).apply(part, row, column);
    }
    if constexpr (c.store == Store::tma) {
      if (params.store != Store::direct) {
        const PanelStore<K> panels{context, is_issuer, batch};
        const unsigned char* panel = params.out_type == DataType::bf16
                                         ? panels.template fill<DataType::bf16>(index, part, 0, 0)
                                         : panels.template fill<DataType::f16>(index, part, 0, 0);
        if (c.stores_rows() && params.store == Store::rows) {
          RowStore<K>{context, batch}.store(panel, row, column);
        } else {
          panels.issue(panel, row, column);
        }
        return;
      }
    }
    DirectStore<K>{context, batch}.store(part, row, column);
  }
};

}  // namespace hopper_gemm
