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

// Four floats, the unit of a remote read.
struct alignas(16) Float4 {
  float x, y, z, w;
};

// Reads from the shared memory of CTA `rank` of the cluster, at the address `local` has in this CTA (distributed shared
// memory; PTX ISA, mapa and ld.shared::cluster). A cluster barrier must lie between the write and the read.
HG_DEVICE Float4 cluster_load(const Float4& local, uint32_t rank) {
  Float4 v;
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n}"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "r"(shared_address(&local)), "r"(rank)
      : "memory");
  return v;
}

}  // namespace hopper_gemm::arch
