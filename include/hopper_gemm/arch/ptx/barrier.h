// mbarriers, CTA-wide and named barriers, proxy fence (PTX ISA: mbarrier, barrier{.cta}, fence.proxy).
#pragma once
#include "hopper_gemm/arch/ptx/thread.h"

namespace hopper_gemm::arch {

// An mbarrier object: 8 bytes of shared memory, opaque.
struct alignas(8) Barrier {
  uint64_t state;
};

HG_DEVICE void barrier_init(Barrier& barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// Makes barrier_init visible to the cluster and to the async proxy; follow it with cta_sync or a cluster barrier.
HG_DEVICE void barrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

HG_DEVICE void barrier_arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Arrives on the barrier at the same address in CTA `rank` of the cluster (itself allowed). The plain form on purpose:
// .release.cluster compiles to MEMBAR.ALL.GPU, which took 25% of a GEMM's speed (H200, 2026-11-29); a stage release
// after wgmma hands over no ordinary writes.
HG_DEVICE void barrier_arrive_cluster(Barrier& barrier, uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(&barrier)),
      "r"(rank)
      : "memory");
}

// One arrival that also announces `bytes` of asynchronous copies.
HG_DEVICE void barrier_arrive_expect(Barrier& barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}

#if defined(HG_WATCHDOG)
// Build option: a wait of more than 2 s writes who waited for what to a host-mapped word and kills the grid with a store
// to address 0. (assert and printf would make ptxas serialise wgmma; trap makes it forget the registers that setmaxnreg
// gave, so kernels with 192 accumulators spill: C7512.)
namespace watchdog {
static __device__ unsigned long long* report = nullptr;  // one per translation unit: the product is not built with -rdc
HG_DEVICE uint32_t nanoseconds() {  // wraps after 4.3 s; 32 bits because kernels with 192 accumulators have none to spare
  uint32_t t;
  asm volatile("mov.u32 %0, %globaltimer_lo;" : "=r"(t));
  return t;
}
HG_DEVICE void bark(uint32_t parity, WaitPoint point) {
  const unsigned long long word = 1ull << 63 | static_cast<unsigned long long>(block_index()) << 32 | thread_index() << 16 |
                                  static_cast<uint32_t>(point.wait) << 12 | parity << 8 | static_cast<uint32_t>(point.stage);
  if (report != nullptr) {
    *static_cast<volatile unsigned long long*>(report) = word;
    asm volatile("fence.sc.sys;" ::: "memory");
  }
  asm volatile("st.volatile.global.u32 [%0], 0;" ::"l"(0ull) : "memory");
}
}  // namespace watchdog

HG_DEVICE void barrier_wait(Barrier& barrier, uint32_t parity, WaitPoint point) {
  const uint32_t start = watchdog::nanoseconds();
  for (;;) {
    uint32_t done;
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(&barrier)), "r"(parity)
        : "memory");
    if (done) return;
    if (watchdog::nanoseconds() - start > 2000000000u) watchdog::bark(parity, point);
  }
}
#else
// Waits until the phase of this parity has completed. `point` is for reports only.
HG_DEVICE void barrier_wait(Barrier& barrier, uint32_t parity, WaitPoint /*point*/) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}
#endif

HG_DEVICE void cta_sync() { __syncthreads(); }

// Named barrier: ids 1..15 (0 is cta_sync), `threads` a multiple of 32.
HG_DEVICE void named_barrier_sync(uint32_t id, uint32_t threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Orders this thread's ordinary shared-memory accesses before later asynchronous ones (wgmma, TMA store).
HG_DEVICE void async_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace hopper_gemm::arch
