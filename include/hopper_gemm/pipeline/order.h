// Pingpong's turn taking: two warpgroups alternate in the mainloop, and in the epilogue of plain products. One with options
// may take longer than a mainloop; then both are in it, each at its own panels.
//
//   barrier              who arrives                          how many   who waits
//   order_mainloop[w]    warps of 1-w, all MMAs issued        4          warpgroup w before its mainloop
//   order_epilogue[w]    warps of 1-w, all stores issued      4          warpgroup w before its epilogue
// Warpgroup 0 goes first: it starts with parity 1, which passes at once. elect_one gathers the warp before it passes the
// turn: a lane left behind in the direct store could otherwise meet its own wait two phases later.
#pragma once
#include "hopper_gemm/kernel/context.h"

namespace hopper_gemm {

template <class K>
struct Order {
  uint32_t phase;
  bool epilogues;

  HG_DEVICE static void init(SharedPlan<K>& shared) {
    for (int warpgroup = 0; warpgroup < 2; ++warpgroup) {
      arch::barrier_init(shared.order_mainloop[warpgroup], kWarpsPerWarpgroup);
      arch::barrier_init(shared.order_epilogue[warpgroup], kWarpsPerWarpgroup);
    }
  }
  HG_DEVICE static Order start(const Context<K>& context) {
    const EpilogueParams& epilogue = context.params.epilogue;
    return {context.warpgroup == 0 ? 1u : 0u, epilogue.plain || epilogue.column_bias};
  }

  HG_DEVICE void wait_mainloop(const Context<K>& context) const {
    arch::barrier_wait(context.shared.order_mainloop[context.warpgroup], phase, {arch::Wait::order_mainloop, 0});
  }
  HG_DEVICE void pass_mainloop(const Context<K>& context) const {
    if (arch::elect_one()) arch::barrier_arrive(context.shared.order_mainloop[1 - context.warpgroup]);
  }
  HG_DEVICE void wait_epilogue(const Context<K>& context) const {
    if (!epilogues) return;
    arch::barrier_wait(context.shared.order_epilogue[context.warpgroup], phase, {arch::Wait::order_epilogue, 0});
  }
  HG_DEVICE void pass_epilogue(const Context<K>& context) const {
    if (arch::elect_one() && epilogues) arch::barrier_arrive(context.shared.order_epilogue[1 - context.warpgroup]);
  }
  HG_DEVICE void advance() { phase ^= 1; }
};

}  // namespace hopper_gemm
