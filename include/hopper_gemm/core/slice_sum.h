// The kernel that sums the slices of a product split along K (kernel/add_slices.h), as a config: its tile is small, so that
// small outputs still fill the card and all loads a thread has for a slice are in flight at once. It loads no stages.
#pragma once
#include "hopper_gemm/core/config.h"

namespace hopper_gemm {

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
