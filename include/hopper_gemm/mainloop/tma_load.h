// TMA loads of one k-block. A tile shared by several CTAs of the cluster is loaded in slices: each sharer loads its slice
// of the box rows and multicasts it to all of them, so the load work is balanced and every byte leaves L2 once.
//
// A kernel that streams() says to L2 which operand to let go first: tiles are walked down bands (scheduler/tile_order.h), so
// what lies along the band is read again with the next column of tiles, the other operand not before the next band.
#pragma once
#include "hopper_gemm/core/boxes.h"
#include "hopper_gemm/kernel/context.h"
#include "hopper_gemm/scheduler/tile_order.h"

namespace hopper_gemm {

struct Slice {
  uint32_t index;     // which slice this CTA loads
  uint16_t cta_mask;  // who receives it
};

template <class K, bool kIsA>
HG_DEVICE void load_operand(unsigned char* destination, const TensorMap& map, arch::Barrier& full, int mn_begin, int k_begin,
                            int batch, int box_rows, Slice slice, bool evict_first) {
  constexpr KernelConfig c = K::config;
  constexpr OperandTile tile = kIsA ? a_tile(c) : b_tile(c);
  constexpr int sharers = kIsA ? c.a_sharers() : c.b_sharers();
  const int row = sharers == 1 ? 0 : static_cast<int>(slice.index) * box_rows;
  for (int box = 0; box < tile.boxes(); ++box) {
    const int loaded = sharers * box_rows * tile.span_bytes();
    arch::leave_undefined(destination + box * tile.box_bytes() + loaded, tile.box_bytes() - loaded);
  }
  // At most 4 at a time: the addresses of 32 boxes would not fit in the producer's 40 registers.
  HG_UNROLL_4 for (int box = 0; box < tile.boxes(); ++box) {
    unsigned char* to = destination + box * tile.box_bytes() + row * tile.span_bytes();
    const int column = box * tile.span();
    const int c0 = tile.major == Major::k ? k_begin + column : mn_begin + column;
    const int c1 = tile.major == Major::k ? mn_begin + row : k_begin + row;
    if constexpr (c.streams()) {
      const auto policy = arch::cache_policy(evict_first);
      if constexpr (sharers == 1) {
        arch::tma_load(to, map, full, c0, c1, batch, policy);
      } else {
        arch::tma_load_multicast(to, map, full, c0, c1, slice.cta_mask, batch, policy);
      }
    } else if constexpr (sharers == 1) {
      arch::tma_load(to, map, full, c0, c1, batch);
    } else {
      arch::tma_load_multicast(to, map, full, c0, c1, slice.cta_mask, batch);
    }
  }
}

// What the loads of a k-block of the tile bring into the stages of its CTA, the slices of peers included.
template <class K>
HG_DEVICE uint32_t loaded_bytes(const GemmParams& params, Tile tile) {
  return K::config.stage_bytes() - (tile.m >= params.a_edge.first_tile ? params.a_edge.missing_bytes : 0) -
         (tile.n >= params.b_edge.first_tile ? params.b_edge.missing_bytes : 0);
}

// One thread: A of k-block `k_block` into `stage`, completing on full[stage].
template <class K>
HG_DEVICE void load_a(const Context<K>& context, int stage, Tile tile, int k_block) {
  constexpr KernelConfig c = K::config;
  const ClusterPlace place = context.place;
  uint32_t row_mask = 0;  // CTAs of this cluster row: they share A
  HG_UNROLL for (int n = 0; n < c.cluster_n; ++n)
    row_mask |= 1u << (place.m + c.cluster_m * n);
  const Slice a_slice = {place.n, static_cast<uint16_t>(row_mask)};
  SharedPlan<K>& shared = context.shared;
  const GemmParams& params = context.params;
  const bool at_edge = tile.m >= params.a_edge.first_tile;
  load_operand<K, true>(shared.a[stage], at_edge ? params.a_edge_map : params.a_map, shared.full[stage], tile.m * c.tile_m,
                        k_block * c.tile_k, tile.batch * params.a_step,
                        at_edge ? params.a_edge.rows : whole_box_rows(a_tile(c), c.a_sharers()), a_slice,
                        params.order.raster == Raster::along_n);
}

// The same for B.
template <class K>
HG_DEVICE void load_b(const Context<K>& context, int stage, Tile tile, int k_block) {
  constexpr KernelConfig c = K::config;
  const ClusterPlace place = context.place;
  const uint32_t column_mask = ((1u << c.cluster_m) - 1) << (c.cluster_m * place.n);  // they share B
  const Slice b_slice = {place.m, static_cast<uint16_t>(column_mask)};
  SharedPlan<K>& shared = context.shared;
  const GemmParams& params = context.params;
  const bool at_edge = tile.n >= params.b_edge.first_tile;
  load_operand<K, false>(shared.b[stage], at_edge ? params.b_edge_map : params.b_map, shared.full[stage], tile.n * c.tile_n,
                         k_block * c.tile_k, tile.batch * params.b_step,
                         at_edge ? params.b_edge.rows : whole_box_rows(b_tile(c), c.b_sharers()), b_slice,
                         params.order.raster != Raster::along_n);
}

}  // namespace hopper_gemm
