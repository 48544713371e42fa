// One panel of 16-bit output in shared memory: 64 rows x panel_n() columns of a tile, written with stmatrix in the layout
// a TMA store reads. A fragment's 8x8 matrices fit stmatrix exactly (arch/ptx/wgmma.h), so no lane exchange is needed.
//   row-major output    : panel row = tile row,    panel_n() elements of N
//   column-major output : panel row = tile column, 64 elements of M (stmatrix transposes each matrix)
#pragma once
#include "hopper_gemm/core/swizzle.h"
#include "hopper_gemm/epilogue/convert.h"
#include "hopper_gemm/kernel/context.h"

namespace hopper_gemm {

// Columns 8 * first_group ... of block `block` of the accumulators, or of a Fragment of them.
template <class K, DataType kOut, class Source>
HG_DEVICE void write_panel_row_major(const Context<K>& context, unsigned char* panel, const Source& acc, int block,
                                     int first_group) {
  constexpr KernelConfig c = K::config;
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

template <class K, DataType kOut, class Source>
HG_DEVICE void write_panel_column_major(const Context<K>& context, unsigned char* panel, const Source& acc, int block,
                                        int first_group) {
  constexpr KernelConfig c = K::config;
  constexpr int pitch_bytes = kMmaM * 2;
  // Lanes 0-7 address the matrix of rows 0-7 of this warp, 8-15 that of rows 8-15, 16-31 the same of the next 8 columns.
  const uint32_t column = context.lane % 8 + context.lane / 16 * 8;
  const uint32_t chunk = context.warp * 2 + context.lane / 8 % 2;
  unsigned char* place = panel + swizzled(c.panel_swizzle(), column * pitch_bytes + chunk * 16);
  if constexpr (c.panel_n() == 8) {
    arch::stmatrix_x2_transposed(place, packed<kOut>(acc.pair(block, first_group, 0)),
                                 packed<kOut>(acc.pair(block, first_group, 1)));
  } else {
    HG_UNROLL for (int group = 0; group < c.panel_n() / 8; group += 2) {
      const int from = first_group + group;
      arch::stmatrix_x4_transposed(place + group * 8 * pitch_bytes, packed<kOut>(acc.pair(block, from, 0)),
                                   packed<kOut>(acc.pair(block, from, 1)), packed<kOut>(acc.pair(block, from + 1, 0)),
                                   packed<kOut>(acc.pair(block, from + 1, 1)));
    }
  }
}

template <class K, DataType kOut, class Source>
HG_DEVICE void write_panel(const Context<K>& context, unsigned char* panel, const Source& acc, int block, int first_group) {
  if constexpr (K::config.is_row_major()) {
    write_panel_row_major<K, kOut>(context, panel, acc, block, first_group);
  } else {
    write_panel_column_major<K, kOut>(context, panel, acc, block, first_group);
  }
}

}  // namespace hopper_gemm
