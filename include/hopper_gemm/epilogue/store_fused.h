// The epilogue of a product with options: the tile in parts of one panel each, first through the operations, then down
// either store path. The loop over the parts is not unrolled, which keeps the operations to one copy in a kernel: they work
// in the place of the first part, and each later one is copied there (mainloop/accumulator.h).
#pragma once
#include "hopper_gemm/epilogue/operations.h"
#include "hopper_gemm/epilogue/store_direct.h"
#include "hopper_gemm/epilogue/store_tma.h"

namespace hopper_gemm {

template <class K>
struct FusedStore {
  static constexpr KernelConfig c = K::config;
  static constexpr int kPanels = c.tile_n / c.panel_n();
  static constexpr int kGroups = c.panel_n() / 8;

  const Context<K>& context;
  bool is_issuer;
  int batch;

  HG_DEVICE void store(Accumulator<K>& acc, int m_begin, int n_begin) const {
    if constexpr (c.store == Store::tma) {
      if (context.params.store == Store::tma) PanelStore<K>{context, is_issuer, batch}.begin();
    }
    HG_NO_UNROLL for (int index = 0; index < c.mma_blocks() * kPanels;) {
      // Places are computed here, for this part: kept in registers across the loops they cost spills at 192 accumulators.
      Context<K> here = context;
      here.lane = arch::opaque(context.lane);
      const auto used = FusedStore{here, is_issuer, batch}.store_part(acc, index, m_begin, n_begin);
      acc.bring(used, ++index);
    }
  }

 private:
  // What is in the place of the first part, as part `index` of the tile.
  HG_DEVICE Fragment<kGroups> store_part(const Accumulator<K>& acc, int index, int m_begin, int n_begin) const {
    const int block = index / kPanels, group = index % kPanels * kGroups;
    const int row = m_begin + block * kMmaM, column = n_begin + group * 8;
    auto part = acc.template fragment<kGroups>(0);
    Operations<K>::make(context, batch).apply(part, row, column);
    const GemmParams& params = context.params;
    if constexpr (c.store == Store::tma) {
      if (params.store == Store::tma) {
        const PanelStore<K> panels{context, is_issuer, batch};
        if (params.out_type == DataType::bf16) {
          panels.template put<DataType::bf16>(index, part, 0, 0, row, column);
        } else {
          panels.template put<DataType::f16>(index, part, 0, 0, row, column);
        }
        return part;
      }
    }
    const DirectStore<K> direct{context, m_begin, n_begin, batch};
    with_output_bytes<K>(params.out_type, [&](auto bytes) { direct.template store_part<bytes>(part, block, group); });
    return part;
  }
};

}  // namespace hopper_gemm
