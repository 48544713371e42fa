// Emulated counterpart of arch/ptx/cluster.h: rank and barrier of a thread-block cluster.
#pragma once
#include "hopper_gemm/arch/emu/thread.h"

namespace hopper_gemm::arch {

HG_DEVICE uint32_t cluster_rank() { return emulator::current_thread->cluster_rank; }

// All threads of all CTAs of the cluster; release at arrive, acquire at wait.
HG_DEVICE void cluster_arrive(emulator::Line line = emulator::Line::current()) { emulator::cluster_arrive(line); }
HG_DEVICE void cluster_wait(emulator::Line line = emulator::Line::current()) { emulator::cluster_wait(line); }

}  // namespace hopper_gemm::arch
