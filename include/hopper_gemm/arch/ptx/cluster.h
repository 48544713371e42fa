// Thread-block clusters (PTX ISA: %cluster_ctarank, barrier.cluster).
#pragma once
#include "hopper_gemm/arch/ptx/thread.h"

namespace hopper_gemm::arch {

HG_DEVICE uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of all CTAs of the cluster; release at arrive, acquire at wait. Not .aligned: warps may be diverged.
HG_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
HG_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

}  // namespace hopper_gemm::arch
