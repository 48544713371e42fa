// The kernel that sums the slices of a product split along K (kernel/add_slices.h), as a config: its tile is small, so that
// small outputs still fill the card and all loads a thread has for a slice are in flight at once. It loads no stages.
#pragma once
#include "hopper_gemm/core/config.h"

namespace hopper_gemm {

// Slices whose loads a thread has in flight together: for each of these there is a kernel of either order. 6 x 337 x 4560 in 15
// slices took 5.9 us with a loop of single loads for what 8 at once leave over and 4.2 with 16; 512 x 512 x 8064 in 2 slices 15.9
// with 16 and 13.4 with 4, which need fewer registers (H200, benchmarks/results/slice_sums.json).
constexpr int kSlicesAtOnce[] = {4, 8, 16};

// Which of them: the least that takes all slices, else the most.
constexpr int slice_sum_index(int slices) { return slices <= kSlicesAtOnce[0] ? 0 : slices <= kSlicesAtOnce[1] ? 1 : 2; }

constexpr KernelConfig slice_sum_config(OutputOrder order) {
  return {.schedule = Schedule::multistage,
          .a_type = DataType::bf16,
          .b_type = DataType::bf16,
          .accumulator = DataType::f32,
          .a_major = Major::k,
          .b_major = Major::k,
          .tile_m = 64,
          .tile_n = 8,
          .tile_k = 64,
          .cluster_m = 1,
          .cluster_n = 1,
          .stages = 3,
          .consumers = 1,
          .a_swizzle = Swizzle::b128,
          .b_swizzle = Swizzle::b128,
          .store = Store::direct,
          .mmas_in_flight = 1,
          .output = order};
}

}  // namespace hopper_gemm
