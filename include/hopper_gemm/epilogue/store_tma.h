// Registers -> stmatrix -> swizzled shared panel -> TMA store, for 16-bit outputs: whole lines, and no bounds to check. The
// store clips rows exactly but columns at whole 16 bytes, so the output's rows must be whole 16 bytes. A panel is 64 rows
// x panel_n() columns.
//
// Two buffers: while the copy engine reads one, the next panel is written to the other. One named barrier a panel does
// both jobs: it says that panel i is complete, and (the issuer having waited before it) that the buffer of panel i + 1
// is free.
#pragma once
#include "hopper_gemm/core/swizzle.h"
#include "hopper_gemm/epilogue/convert.h"
#include "hopper_gemm/kernel/context.h"

namespace hopper_gemm {

template <class K>
struct PanelStore {
  static constexpr KernelConfig c = K::config;
  static constexpr int kPanels = c.tile_n / c.panel_n();
  static constexpr int kBuffers = c.panel_buffers();

  const Context<K>& context;
  bool is_issuer;  // one fixed thread a warpgroup: bulk groups belong to the thread that commits them

  HG_DEVICE void sync() const { arch::named_barrier_sync(1 + context.warpgroup, kWarpgroupThreads); }
  HG_DEVICE void wait_buffers_read() const {
    if (is_issuer) arch::tma_store_wait_read<0>();
  }

  template <DataType kOut>
  HG_DEVICE void write_panel(unsigned char* panel, const Accumulator<K>& acc, int block, int first_group) const {
    constexpr int pitch_bytes = c.panel_n() * 2;
    const uint32_t row = context.warp * 16 + context.lane % 16;
    if constexpr (c.panel_n() == 8) {
      arch::stmatrix_x2(panel + row * pitch_bytes, packed<kOut>(acc.pair(block, first_group, 0)),
                        packed<kOut>(acc.pair(block, first_group, 1)));
    } else {
      const uint32_t place = swizzled(c.panel_swizzle(), row * pitch_bytes + context.lane / 16 * 16);
      HG_UNROLL for (int group = 0; group < c.panel_n() / 8; group += 2) {
        const int from = first_group + group;
        arch::stmatrix_x4(panel + (place ^ (group * 16)), packed<kOut>(acc.pair(block, from, 0)),
                          packed<kOut>(acc.pair(block, from, 1)), packed<kOut>(acc.pair(block, from + 1, 0)),
                          packed<kOut>(acc.pair(block, from + 1, 1)));
      }
    }
  }

  template <DataType kOut>
  HG_DEVICE void store(const Accumulator<K>& acc, int m_begin, int n_begin) const {
    wait_buffers_read();
    sync();
    HG_UNROLL for (int index = 0; index < c.mma_blocks() * kPanels; ++index) {
      const int block = index / kPanels, column = index % kPanels * c.panel_n();
      unsigned char* panel = context.shared.staging.panel[context.warpgroup][index % kBuffers];
      if (kBuffers == 1 && index > 0) {
        wait_buffers_read();
        sync();
      }
      write_panel<kOut>(panel, acc, block, column / 8);
      arch::async_proxy_fence();
      if (kBuffers == 2) wait_buffers_read();
      sync();
      if (is_issuer) {
        arch::tma_store(context.params.out_map, panel, n_begin + column, m_begin + block * kMmaM);
        arch::tma_store_commit();
      }
    }
  }
};

}  // namespace hopper_gemm
