// The order in which a tile loads the k-blocks of its sum.
//
// All tiles of a wave begin at the same time, and if all begin with the same block they read the same few lines of B. Where B
// has few columns those lines are few: tiles of A's neighbouring rows begin one block apart and go round
// (docs/notes/small_and_decode.md); CTAs of a cluster, which share B, begin together. So the bits of a row depend on where in
// A it lies: of a column of weights, with exchanged operands; otherwise batch_invariant rules such kernels out (plan.py).
//
// Where a single row of tiles has a CTA for each, every CTA streams columns of B of its own, and a launch may have them begin
// apart too (Raster::apart). All rows of a product are summed alike then, but not all products of fewer or more rows are.
#pragma once
#include "hopper_gemm/scheduler/tile_order.h"

namespace hopper_gemm {

template <class K>
struct KOrder {
  static constexpr KernelConfig c = K::config;
  static constexpr bool kTurns = c.turns_k() || c.turns_when_told();
  KRange range;
  int first;

  HG_DEVICE static KOrder of(const Context<K>& context, Tile tile) {
    const KRange range = context.k_range();
    if constexpr (kTurns)
      return {range, range.count > 0 ? clusters_before(context.params.order.raster, tile) % range.count : 0};
    return {range, 0};
  }
  HG_DEVICE int count() const { return range.count; }
  // The k-block that is loaded as number `i` of count().
  HG_DEVICE int block(int i) const {
    if constexpr (!kTurns) return range.begin + i;
    const int turned = first + i;
    return range.begin + (turned < range.count ? turned : turned - range.count);
  }

 private:
  HG_DEVICE static int clusters_before(Raster raster, Tile tile) {
    if constexpr (c.turns_k()) return tile.m / c.cluster_m;
    return raster == Raster::apart ? tile.n / c.cluster_n : 0;
  }
};

}  // namespace hopper_gemm
