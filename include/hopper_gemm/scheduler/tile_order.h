// Which tile is which: the order in which tiles (or clusters of tiles) are walked, chosen at run time so that tiles in
// flight together share rows of A and columns of B in L2.
#pragma once
#include "hopper_gemm/kernel/context.h"

namespace hopper_gemm {

// Indices of an output tile: rows m * tile_m ..., columns n * tile_n ... of the product `batch`.
struct Tile {
  int m, n, batch;
};

// Walks `rows x columns` in bands of `group` rows: down the band first, then to the next column.
constexpr Tile grouped(int index, int rows, int columns, int group) {
  const int band_size = group * columns;
  const int band = index / band_size;
  const int first_row = band * group;
  const int band_rows = rows - first_row < group ? rows - first_row : group;
  const int in_band = index - band * band_size;
  return {first_row + in_band % band_rows, in_band / band_rows, 0};
}

// The tile of the CTA at `place` in the cluster that works on cluster tile `index`. Batches are walked one after the other.
template <class K>
HG_DEVICE Tile tile_at(const TileOrder& order, ClusterPlace place, int index) {
  constexpr KernelConfig c = K::config;
  const int rows = order.tiles_m / c.cluster_m;
  const int columns = order.tiles_n / c.cluster_n;
  const int batch = order.batches == 1 ? 0 : index / (rows * columns);
  index -= batch * rows * columns;
  Tile cluster;
  if (order.raster != Raster::along_n) {
    cluster = grouped(index, rows, columns, order.group);
  } else {
    const Tile transposed = grouped(index, columns, rows, order.group);
    cluster = {transposed.n, transposed.m, 0};
  }
  return {cluster.m * c.cluster_m + static_cast<int>(place.m), cluster.n * c.cluster_n + static_cast<int>(place.n), batch};
}

}  // namespace hopper_gemm
