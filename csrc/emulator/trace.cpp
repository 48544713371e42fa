// Timelines: what each warpgroup was doing from when to when, recorded once per warpgroup although all its threads (or
// one of them, not always the same) say it.
#include "machine.h"

namespace hopper_gemm::emulator {

void close_activity(Warpgroup& warpgroup) {
  if (!machine->options.trace || warpgroup.activities.empty()) return;
  const auto& [activity, tile] = warpgroup.activities.back();
  machine->trace.push_back({warpgroup.activity_begin, machine->scheduler.clock(), static_cast<int>(warpgroup.cta->block),
                            warpgroup.index, tile, static_cast<int>(activity)});
}

void add_span(SpanKind kind, const Cta& cta, int warpgroup, int stage, int64_t begin, int64_t end) {
  if (machine->options.trace)
    machine->spans.push_back({begin, end, static_cast<int>(cta.block), warpgroup, stage, static_cast<int>(kind)});
}

void annotate(arch::Activity activity, int tile) {
  Thread& thread = self();
  // Schedules with one tile per CTA say 0: their tile is the CTA's (in clusters, as the persistent ones count).
  const Launch& launch = machine->launch;
  if (!launch.is_persistent) tile += static_cast<int>(thread.view.block) / launch.cluster;
  Warpgroup& warpgroup = *thread.warpgroup;
  const std::pair<arch::Activity, int> now{activity, tile};
  // The first thread to reach its n-th annotation opens the n-th activity; the others only catch up.
  if (thread.annotations < warpgroup.activities.size() && warpgroup.activities[thread.annotations] == now) {
    ++thread.annotations;
    return;
  }
  close_activity(warpgroup);
  warpgroup.activity_begin = machine->scheduler.clock();
  warpgroup.activities.push_back(now);
  thread.annotations = warpgroup.activities.size();
  warpgroup.loads |= activity == arch::Activity::load;
  warpgroup.multiplies |= activity == arch::Activity::mainloop;
}

}  // namespace hopper_gemm::emulator
