// Who this thread is and what it works on: built once at kernel entry, passed to every layer below.
#pragma once
#include "hopper_gemm/core/params.h"
#include "hopper_gemm/kernel/shared_plan.h"

namespace hopper_gemm {

// This CTA's place in its cluster: rank = m + cluster_m * (n + cluster_n * k).
struct ClusterPlace {
  uint32_t m, n, k;
};

// The k-blocks of a tile this CTA computes: all, or its share of a split tile (which may be empty).
struct KRange {
  int begin, count;
};

template <class K>
struct Context {
  static constexpr KernelConfig c = K::config;

  const GemmParams& params;
  SharedPlan<K>& shared;
  ClusterPlace place;
  uint32_t warpgroup;  // in the CTA; producer roles are the last warpgroup
  uint32_t warp;       // in the warpgroup
  uint32_t lane;

  HG_DEVICE static Context make(const GemmParams& params) {
    const uint32_t thread = arch::thread_index();
    const uint32_t rank = c.cluster_size() == 1 ? 0 : arch::cluster_rank();
    return {params,
            arch::dynamic_shared<SharedPlan<K>>(),
            {rank % c.cluster_m, rank / c.cluster_m % c.cluster_n, rank / (c.cluster_m * c.cluster_n)},
            arch::warp_uniform(thread / kWarpgroupThreads),
            arch::warp_uniform(thread % kWarpgroupThreads / 32),
            thread % 32};
  }

  HG_DEVICE KRange k_range() const {
    const int blocks = ceil_div(params.k, c.tile_k);
    if constexpr (!c.splits_k()) return {0, blocks};
    const int begin = static_cast<int>(place.k) * blocks / c.cluster_k;
    return {begin, static_cast<int>(place.k + 1) * blocks / c.cluster_k - begin};
  }
  HG_DEVICE int k_blocks() const { return k_range().count; }
  HG_DEVICE bool is_producer() const { return c.has_producer() && warpgroup == c.consumers; }
};

// CTA-wide or, in a cluster, cluster-wide barrier of all threads.
template <class K>
HG_DEVICE void sync_cluster() {
  if constexpr (K::config.cluster_size() > 1) {
    arch::cluster_arrive();
    arch::cluster_wait();
  } else {
    arch::cta_sync();
  }
}

// A CTA of a cluster may not leave while peers still signal its barriers or multicast into its stages.
template <class K>
HG_DEVICE void leave_cluster() {
  if constexpr (K::config.cluster_size() > 1) sync_cluster<K>();
}

}  // namespace hopper_gemm
