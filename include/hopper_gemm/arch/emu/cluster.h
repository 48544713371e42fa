// Emulated counterpart of arch/ptx/cluster.h: rank and barrier of a thread-block cluster.
#pragma once
#include "hopper_gemm/arch/emu/thread.h"

namespace hopper_gemm::arch {

HG_DEVICE uint32_t cluster_rank() { return emulator::current_thread->cluster_rank; }

// All threads of all CTAs of the cluster; release at arrive, acquire at wait.
HG_DEVICE void cluster_arrive(emulator::Line line = emulator::Line::current()) { emulator::cluster_arrive(line); }
HG_DEVICE void cluster_wait(emulator::Line line = emulator::Line::current()) { emulator::cluster_wait(line); }

// Four floats, the unit of a remote read.
struct alignas(16) Float4 {
  float x, y, z, w;
};

// Reads from the shared memory of CTA `rank` of the cluster, at the address `local` has in this CTA.
HG_DEVICE Float4 cluster_load(const Float4& local, uint32_t rank, emulator::Line line = emulator::Line::current()) {
  Float4 value;
  emulator::cluster_load(&local, rank, &value, line);
  return value;
}

}  // namespace hopper_gemm::arch
