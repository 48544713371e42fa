// Timelines of the timed mode: each schedule must show itself. In pingpong, and only there, one consumer warpgroup's
// epilogue lies under the other's mainloop.
#include <chrono>
#include <cstdlib>

#include "emulator_gemm.h"

namespace hopper_gemm::test {

template <Schedule kSchedule, int kTileM, int kTileN, int kStages, int kConsumers, Store kStore>
struct Kernel {
  static constexpr KernelConfig config = {
      kSchedule, DataType::bf16, DataType::bf16, DataType::f32, Major::k,      Major::k, kTileM, kTileN, 64, 1,
      1,         kStages,        kConsumers,     Swizzle::b128, Swizzle::b128, kStore,   1};
};

// Cycles in which a warpgroup of a CTA is in its epilogue while another one of the same CTA is in its mainloop, on
// another tile, and cycles of epilogue in all.
struct Overlap {
  int64_t hidden = 0, epilogue = 0;
};
Overlap overlap(const std::vector<TraceEvent>& trace) {
  constexpr int kMainloop = static_cast<int>(arch::Activity::mainloop),
                kEpilogue = static_cast<int>(arch::Activity::epilogue);
  Overlap sum;
  for (const TraceEvent& e : trace) {
    if (e.activity != kEpilogue) continue;
    sum.epilogue += e.end - e.begin;
    for (const TraceEvent& m : trace)
      if (m.activity == kMainloop && m.cta == e.cta && m.warpgroup != e.warpgroup && m.tile != e.tile)
        sum.hidden += std::max<int64_t>(0, std::min(e.end, m.end) - std::max(e.begin, m.begin));
  }
  return sum;
}

void print(const std::vector<TraceEvent>& trace) {
  constexpr const char* kNames[] = {"idle", "load", "mainloop", "epilogue"};
  for (const TraceEvent& e : trace)
    if (e.cta == 0)
      std::printf("    warpgroup %d tile %2d %-8s %7lld .. %7lld\n", e.warpgroup, e.tile, kNames[e.activity],
                  static_cast<long long>(e.begin), static_cast<long long>(e.end));
}

template <class K>
Overlap timeline(const char* name, bool verbose) {
  EmulatedGemm<K> gemm({768, 512, 512});
  gemm.options.timed = gemm.options.trace = true;
  gemm.options.sm_count = 2;
  const auto start = std::chrono::steady_clock::now();
  const EmulatorReport report = gemm.run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(clean(report));
  CHECK(gemm.correct());
  const EmulatorReport again = gemm.run();
  CHECK(again.trace.size() == report.trace.size());
  for (size_t i = 0; i < again.trace.size() && i < report.trace.size(); ++i)
    CHECK(again.trace[i].begin == report.trace[i].begin && again.trace[i].end == report.trace[i].end);
  int64_t end = 0;
  for (const TraceEvent& event : report.trace) {
    CHECK(event.begin <= event.end);
    end = std::max(end, event.end);
  }
  const Overlap sum = overlap(report.trace);
  std::printf("%s: %lld cycles, epilogue %lld, of which hidden %lld (%.2f s)\n", name, static_cast<long long>(end),
              static_cast<long long>(sum.epilogue), static_cast<long long>(sum.hidden), seconds);
  if (verbose) print(report.trace);
  return sum;
}

}  // namespace hopper_gemm::test

int main(int argc, char**) {
  using namespace hopper_gemm;
  using namespace hopper_gemm::test;
  const bool verbose = argc > 1;
  const Overlap multistage = timeline<Kernel<Schedule::multistage, 128, 128, 4, 2, Store::direct>>("multistage", verbose);
  const Overlap tma = timeline<Kernel<Schedule::tma, 128, 128, 4, 2, Store::direct>>("tma", verbose);
  const Overlap specialized =
      timeline<Kernel<Schedule::warp_specialized, 128, 128, 4, 2, Store::direct>>("warp_specialized", verbose);
  const Overlap cooperative = timeline<Kernel<Schedule::cooperative, 128, 256, 3, 2, Store::direct>>("cooperative", verbose);
  const Overlap pingpong = timeline<Kernel<Schedule::pingpong, 64, 256, 4, 2, Store::tma>>("pingpong", verbose);
  CHECK(pingpong.hidden > pingpong.epilogue / 2);
  CHECK(multistage.hidden == 0 && tma.hidden == 0 && specialized.hidden == 0);
  CHECK(cooperative.hidden < cooperative.epilogue / 8);
  return result();
}
