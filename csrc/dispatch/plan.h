// How a problem is cut into tiles and CTAs: the launch shape and the tile order.
#pragma once
#include "hopper_gemm.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm {

// Tiles along one extent, rounded up to whole clusters; at least one cluster.
constexpr int64_t tiles_along(int64_t extent, int tile, int cluster) {
  const int64_t step = int64_t{tile} * cluster;
  return (extent > 0 ? (extent + step - 1) / step : 1) * cluster;
}

struct Plan {
  LaunchShape shape;
  TileOrder order;
};

// `resident_clusters`: how many clusters of this kernel the machine holds at once. Only persistent schedules ask;
// theirs is the only grid that depends on it.
template <class ResidentClusters>
Plan make_plan(const KernelConfig& config, const Problem& problem, const LaunchOptions& options, Store store,
               ResidentClusters&& resident_clusters) {
  const int64_t tiles_m = tiles_along(problem.m, config.tile_m, config.cluster_m);
  const int64_t tiles_n = tiles_along(problem.n, config.tile_n, config.cluster_n);
  int64_t grid = tiles_m * tiles_n * config.cluster_k * problem.batches;
  if (config.is_persistent()) {
    const int64_t cluster = config.cluster_size();
    int64_t clusters = resident_clusters();
    if (options.max_ctas > 0 && options.max_ctas / cluster < clusters) clusters = options.max_ctas / cluster;
    if (clusters < 1) clusters = 1;
    if (clusters * cluster < grid) grid = clusters * cluster;
  }
  // A group wider than the output is the whole output; this also keeps the kernel's 32-bit products in range.
  const int64_t banded = options.raster == Raster::along_n ? tiles_n / config.cluster_n : tiles_m / config.cluster_m;
  const int group = static_cast<int>(options.group < 1 ? 1 : options.group > banded ? banded : options.group);
  const bool is_empty =
      problem.m == 0 || problem.n == 0 || problem.batches == 0 || (problem.k == 0 && problem.epilogue.is_plain());
  if (is_empty) grid = 0;  // answered without a launch
  return {.shape = {.grid = grid,
                    .cluster = config.cluster_size(),
                    .threads = config.threads(),
                    .shared_bytes = config.shared_bytes(),
                    .tiles_m = static_cast<int>(tiles_m),
                    .tiles_n = static_cast<int>(tiles_n),
                    .store = store},
          .order = {.tiles_m = static_cast<int>(tiles_m),
                    .tiles_n = static_cast<int>(tiles_n),
                    .group = group,
                    .raster = options.raster,
                    .batches = static_cast<int>(problem.batches)}};
}

}  // namespace hopper_gemm
