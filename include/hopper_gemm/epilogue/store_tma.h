// Registers -> stmatrix -> swizzled shared panel -> TMA store, for 16-bit outputs: whole lines, and no bounds to check. The
// store clips rows exactly but columns at whole 16 bytes, so the rows of the stored output must be whole 16 bytes.
//
// Two buffers: while the copy engine reads one, the next panel is written to the other. One named barrier a panel does
// both jobs: it says that panel i is complete, and (the issuer having waited before it) that the buffer of panel i + 1
// is free.
#pragma once
#include "hopper_gemm/epilogue/panel.h"

namespace hopper_gemm {

template <class K>
struct PanelStore {
  static constexpr KernelConfig c = K::config;
  static constexpr int kPanels = c.tile_n / c.panel_n();
  static constexpr int kBuffers = c.panel_buffers();

  const Context<K>& context;
  bool is_issuer;  // one fixed thread a warpgroup: bulk groups belong to the thread that commits them
  int batch;

  HG_DEVICE void sync() const { arch::named_barrier_sync(1 + context.warpgroup, kWarpgroupThreads); }
  HG_DEVICE void wait_buffers_read() const {
    if (is_issuer) arch::tma_store_wait_read<0>();
  }
  HG_DEVICE void issue(const unsigned char* panel, int row, int column) const {
    if (!is_issuer) return;
    arch::tma_store(context.params.out_map, panel, c.is_row_major() ? column : row, c.is_row_major() ? row : column, batch);
    arch::tma_store_commit();
  }

  template <DataType kOut>
  HG_DEVICE void store(const Accumulator<K>& acc, int m_begin, int n_begin) const {
    begin();
    HG_UNROLL for (int index = 0; index < c.mma_blocks() * kPanels; ++index) {
      const int block = index / kPanels, column = index % kPanels * c.panel_n();
      put<kOut>(index, acc, block, column / 8, m_begin + block * kMmaM, n_begin + column);
    }
  }

  HG_DEVICE void begin() const {
    wait_buffers_read();
    sync();
  }
  // Panel `index` of this tile: columns 8 * first_group ... of a block of `source`, stored at `row` and `column`.
  template <DataType kOut, class Source>
  HG_DEVICE void put(int index, const Source& source, int block, int first_group, int row, int column) const {
    issue(fill<kOut>(index, source, block, first_group), row, column);
  }
  // The panel, once all of the warpgroup have written it.
  template <DataType kOut, class Source>
  HG_DEVICE const unsigned char* fill(int index, const Source& source, int block, int first_group) const {
    unsigned char* panel = context.shared.epilogue.panel[context.warpgroup][index % kBuffers];
    if (kBuffers == 1 && index > 0) {
      wait_buffers_read();
      sync();
    }
    write_panel<K, kOut>(context, panel, source, block, first_group);
    arch::async_proxy_fence();
    if (kBuffers == 2) wait_buffers_read();
    sync();
    return panel;
  }
};

}  // namespace hopper_gemm
