// The kernel entry: set-up common to all schedules, then the schedule's own file.
//   template <class K> gemm_kernel(params), where K is a type with `static constexpr KernelConfig config`.
#pragma once
#include "hopper_gemm/kernel/cooperative.h"
#include "hopper_gemm/kernel/multistage.h"
#include "hopper_gemm/kernel/pingpong.h"
#include "hopper_gemm/kernel/tma.h"
#include "hopper_gemm/kernel/warp_specialized.h"

namespace hopper_gemm {

template <class K>
HG_DEVICE void set_up(const Context<K>& context) {
  constexpr KernelConfig c = K::config;
  if constexpr (c.uses_tma()) {
    if (context.warpgroup == 0 && context.warp == 0 && arch::elect_one()) {
      arch::tma_prefetch(context.params.a_map);
      arch::tma_prefetch(context.params.b_map);
      if (context.params.a_edge.exist()) arch::tma_prefetch(context.params.a_edge_map);
      if (context.params.b_edge.exist()) arch::tma_prefetch(context.params.b_edge_map);
      TmaRing<K>::init(context.shared);
      if constexpr (c.is_pingpong()) Order<K>::init(context.shared);
      arch::barrier_init_fence();
    }
    sync_cluster<K>();
  }
}

template <class K>
HG_KERNEL(K::config.threads())
gemm_kernel(HG_PARAM(GemmParams) params) {
  constexpr KernelConfig c = K::config;
  static_assert(config_rule(c) == ConfigRule::valid);
  static_assert(shared_plan_matches<K>());
  const auto context = Context<K>::make(params);
  set_up(context);
  // Nothing above touches global memory: every schedule begins with wait_for_previous_grid,
  // before which it loads a static operand at most.
  if constexpr (c.schedule == Schedule::multistage) Multistage<K>::run(context);
  if constexpr (c.schedule == Schedule::tma) TmaKernel<K>::run(context);
  if constexpr (c.schedule == Schedule::warp_specialized) WarpSpecialized<K>::run(context);
  if constexpr (c.schedule == Schedule::cooperative) Cooperative<K>::run(context);
  if constexpr (c.schedule == Schedule::pingpong) Pingpong<K>::run(context);
  if constexpr (c.uses_tma()) leave_cluster<K>();
}

}  // namespace hopper_gemm
