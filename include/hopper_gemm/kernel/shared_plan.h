// Everything a kernel keeps in shared memory, as one struct.
#pragma once
#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/config.h"

namespace hopper_gemm {

template <int kWarpgroups, int kBuffers, int kBytes>
struct StagingPanels {
  alignas(kTileAlignmentBytes) unsigned char panel[kWarpgroups][kBuffers][kBytes];
};
template <int kWarpgroups, int kBytes>
struct StagingPanels<kWarpgroups, 0, kBytes> {};

template <class K>
struct SharedPlan {
  static constexpr KernelConfig c = K::config;

  alignas(kTileAlignmentBytes) unsigned char a[c.stages][c.a_stage_bytes()];
  alignas(kTileAlignmentBytes) unsigned char b[c.stages][c.b_stage_bytes()];
  StagingPanels<c.consumers, c.panel_buffers(), c.panel_bytes()> staging;
  arch::Barrier full[c.stages];      // pipeline/tma_ring.h
  arch::Barrier empty[c.stages];     // pipeline/tma_ring.h
  arch::Barrier order_mainloop[2];   // pipeline/order.h
  arch::Barrier order_epilogue[2];   // pipeline/order.h
};

template <class K>
constexpr bool shared_plan_matches() {
  return sizeof(SharedPlan<K>) == static_cast<unsigned>(K::config.shared_bytes());
}

}  // namespace hopper_gemm
