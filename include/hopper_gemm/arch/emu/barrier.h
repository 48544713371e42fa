// Emulated counterpart of arch/ptx/barrier.h: mbarriers, CTA-wide and named barriers, proxy fence.
#pragma once
#include "hopper_gemm/arch/emu/thread.h"

namespace hopper_gemm::arch {

// An mbarrier object: 8 bytes of shared memory, opaque. The emulator keeps its state elsewhere and writes a tag here,
// so that a barrier overwritten by data is noticed.
struct alignas(8) Barrier {
  uint64_t state;
};

HG_DEVICE void barrier_init(Barrier& barrier, uint32_t arrivals, emulator::Line line = emulator::Line::current()) {
  emulator::barrier_init(barrier.state, arrivals, line);
}

// Makes barrier_init visible to the cluster and to the async proxy; follow it with cta_sync or a cluster barrier.
HG_DEVICE void barrier_init_fence(emulator::Line line = emulator::Line::current()) { emulator::barrier_init_fence(line); }

HG_DEVICE void barrier_arrive(Barrier& barrier, emulator::Line line = emulator::Line::current()) {
  emulator::barrier_arrive(barrier.state, line);
}

// Arrives on the barrier at the same address in CTA `rank` of the cluster (itself allowed).
HG_DEVICE void barrier_arrive_cluster(Barrier& barrier, uint32_t rank, emulator::Line line = emulator::Line::current()) {
  emulator::barrier_arrive_cluster(barrier.state, rank, line);
}

// One arrival that also announces `bytes` of asynchronous copies.
HG_DEVICE void barrier_arrive_expect(Barrier& barrier, uint32_t bytes, emulator::Line line = emulator::Line::current()) {
  emulator::barrier_arrive_expect(barrier.state, bytes, line);
}

// Waits until the phase of this parity has completed. `point` names the barrier in reports.
HG_DEVICE void barrier_wait(Barrier& barrier, uint32_t parity, WaitPoint point,
                            emulator::Line line = emulator::Line::current()) {
  emulator::barrier_wait(barrier.state, parity, point, line);
}

HG_DEVICE void cta_sync(emulator::Line line = emulator::Line::current()) { emulator::cta_sync(line); }

// Named barrier: ids 1..15 (0 is cta_sync), `threads` a multiple of 32.
HG_DEVICE void named_barrier_sync(uint32_t id, uint32_t threads, emulator::Line line = emulator::Line::current()) {
  emulator::named_barrier_sync(id, threads, line);
}

// Orders this thread's ordinary shared-memory accesses before later asynchronous ones (wgmma, TMA store).
HG_DEVICE void async_proxy_fence(emulator::Line line = emulator::Line::current()) { emulator::async_proxy_fence(line); }

}  // namespace hopper_gemm::arch
