// Everything a kernel keeps in shared memory, as one struct.
#pragma once
#include <type_traits>

#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/config.h"

namespace hopper_gemm {

template <int kWarpgroups, int kBuffers, int kBytes>
struct StagingPanels {
  alignas(kTileAlignmentBytes) unsigned char panel[kWarpgroups][kBuffers][kBytes];
};
template <int kWarpgroups, int kBytes>
struct StagingPanels<kWarpgroups, 0, kBytes> {};

// Accumulators of all consumer threads, four registers at a time: groups of 8 columns, then threads.
template <int kGroups, int kThreads>
struct PartialSums {
  alignas(kTileAlignmentBytes) arch::Float4 sum[kGroups][kThreads];
};

template <class K>
struct SharedPlan {
  static constexpr KernelConfig c = K::config;

  alignas(kTileAlignmentBytes) unsigned char a[c.stages][c.a_stage_bytes()];
  alignas(kTileAlignmentBytes) unsigned char b[c.stages][c.b_stage_bytes()];
  std::conditional_t<c.splits_k(), PartialSums<c.mma_blocks() * c.tile_n / 8, c.consumer_threads()>,
                     StagingPanels<c.consumers, c.panel_buffers(), c.panel_bytes()>>
      epilogue;
  arch::Barrier full[c.stages];     // pipeline/tma_ring.h
  arch::Barrier empty[c.stages];    // pipeline/tma_ring.h
  arch::Barrier order_mainloop[2];  // pipeline/order.h
  arch::Barrier order_epilogue[2];  // pipeline/order.h
};

template <class K>
constexpr bool shared_plan_matches() {
  return sizeof(SharedPlan<K>) == static_cast<unsigned>(K::config.shared_bytes());
}

}  // namespace hopper_gemm
