// Position in a ring of stages: which stage, and the parity of the barrier phase it is in.
// A consumer starts at {0, 0} and waits for data; a producer starts at {0, 1}, so that its first round of waits for
// empty stages passes at once (PTX ISA: a fresh mbarrier counts as having completed the phase of parity 1).
#pragma once
#include "hopper_gemm/arch/isa.h"

namespace hopper_gemm {

template <int kStages>
struct RingState {
  int stage;
  uint32_t phase;

  HG_DEVICE void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
  // Skips `blocks` stages: pingpong passes over the tile of the other warpgroup.
  HG_DEVICE void advance(int blocks) {
    const int to = stage + blocks;
    phase ^= static_cast<uint32_t>(to / kStages) & 1;
    stage = to % kStages;
  }
  HG_DEVICE int previous_stage() const { return stage == 0 ? kStages - 1 : stage - 1; }
};

}  // namespace hopper_gemm
