// The tiles of one CTA: a single one (grid = tiles), or every grid-th one (persistent).
#pragma once
#include "hopper_gemm/scheduler/tile_order.h"

namespace hopper_gemm {

// Counts in clusters: all CTAs of a cluster walk together, so they run the same number of k-blocks.
template <class K>
struct StaticWalk {
  static constexpr KernelConfig c = K::config;
  int index, stride, count;

  HG_DEVICE static StaticWalk start(const GemmParams& params) {
    return {static_cast<int>(arch::block_index()) / c.cluster_size(), static_cast<int>(arch::grid_size()) / c.cluster_size(),
            params.order.tiles_m * params.order.tiles_n / (c.cluster_m * c.cluster_n) * params.order.batches};
  }
  HG_DEVICE bool valid() const { return index < count; }
  HG_DEVICE void advance(int tiles = 1) { index += tiles * stride; }
  HG_DEVICE Tile tile(const Context<K>& context) const { return tile_at<K>(context.params.order, context.place, index); }
};

}  // namespace hopper_gemm
