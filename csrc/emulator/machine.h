// One run of a grid: the resident clusters, the scheduler and what was found. There is one machine at a time.
#pragma once
#include <exception>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "emulator.h"
#include "epilogue_memory.h"
#include "finding.h"
#include "scheduler.h"
#include "state.h"

namespace hopper_gemm::emulator {

struct Machine {
  Machine(const Launch& launch, const GemmParams& params, const EmulatorOptions& options);
  ~Machine();

  EmulatorReport run();

  // Rows and columns of the output as it lies in memory.
  std::pair<int64_t, int64_t> stored_output() const {
    return launch.output == OutputOrder::row_major ? std::pair<int64_t, int64_t>{params.m, params.n}
                                                   : std::pair<int64_t, int64_t>{params.n, params.m};
  }

  const Launch& launch;
  const GemmParams& params;
  const EmulatorOptions& options;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Cluster>> clusters;  // resident: each slot takes the next cluster when it is done
  int64_t next_cluster = 0;
  std::vector<std::string> findings;
  std::set<std::string> finding_keys;
  std::set<std::tuple<const char*, uint32_t, uint32_t>> hazards;  // reported: rule and both lines
  std::vector<TraceEvent> trace;
  std::vector<TraceSpan> spans;
  std::vector<std::pair<const void*, std::string>> sources;  // tensors that loads have read: origins name them by index + 1
  int64_t stmatrix_rows = 0, stmatrix_cycles = 0;
  int64_t early_a = 0, early_b = 0;  // loads of a static operand before the previous grid was waited for
  EpilogueMemory epilogue;
  std::exception_ptr error;

 private:
  void start_cluster(Cluster& cluster);
  void start_cta(Cta& cta, uint32_t block);
  void thread_finished(Thread& thread);
  void report_deadlock();
};

extern Machine* machine;  // the running one

inline Thread& self() { return *machine->scheduler.running(); }
inline void tick(int cycles) { machine->scheduler.tick(cycles); }

// Blocks the running thread until it is made ready; the caller checks its condition again.
void block_on(const Waiting& waiting);
void wake(std::vector<Thread*>& waiters);

// A protocol error. The run goes on; equal keys are reported once.
void report(Finding kind, const std::string& text, const std::string& key);
inline void report(Finding kind, const std::string& text) { report(kind, text, text); }
// An error after which the thread cannot go on: reports and ends the run.
[[noreturn]] void fail(Finding kind, const std::string& text);

// The number of a clock component, given when it is first asked for.
inline uint32_t component_of(Cta& cta, uint32_t& component, uint32_t width = 1) {
  if (component == kNoComponent) {
    component = cta.cluster->components;
    cta.cluster->components += width;
  }
  return component;
}
// The index by which origins name the tensor at `address`.
uint16_t source_of(const void* address);

// --- shared addresses (tma.cpp, copy.cpp, barriers.cpp use them)
uint32_t window_address(const Cta& cta, const void* pointer, const char* what, Line line);
inline unsigned char* shared_bytes_at(const Cta& cta, uint32_t address) { return cta.shared + (address - kSharedStart); }
Mbarrier& barrier_at(Cta& cta, uint32_t address, const char* what, Line line);
void complete_bytes(Cta& cta, Mbarrier& barrier, uint32_t bytes, uint64_t phase_at_issue, Line line);
// Reports the running thread's use of a barrier in `cta` before the initialisation is visible to it.
void check_visible(const Cta& cta, const Mbarrier& barrier, const char* what, Line line);
// The running thread arrives at a CTA (or cluster) barrier: its initialised barriers become visible when that completes.
void publish_barriers(Thread& thread, bool cluster);

// --- warp.cpp: gathers the 32 lanes of the running thread's warp. True in the lane that came last, which acts and then
// calls release_warp; false in the others, after that.
bool gather_warp(const char* operation, Line line);
void release_warp();

// --- copy.cpp: a thread touches global memory
void check_grid_order(const char* what, Line line);

// --- at thread exit
void check_thread_exit(Thread& thread);
void check_cta_exit(const Cta& cta);
void cluster_thread_exited(Thread& thread);  // counts it out of its cluster

// --- report.cpp
std::string place(Line line);                       // "pipeline/tma_ring.h:57"
std::string who(const Thread& thread);              // "CTA 0 warpgroup 1 (consumer 0) warp 5 lane 3"
std::string barrier_name(const Mbarrier& barrier);  // "full[2]" or "barrier at shared address 0x..."
std::string barrier_state(const Mbarrier& barrier);
std::string deadlock_text(const Machine& machine);
std::string name_of_epoch(const Epoch& epoch, uint32_t block);  // what a waiter would have to wait for
Access access(Access::By by, const Thread& thread, Line line, Epoch end);

// --- trace.cpp
void close_activity(Warpgroup& warpgroup);
void add_span(SpanKind kind, const Cta& cta, int warpgroup, int stage, int64_t begin, int64_t end);

}  // namespace hopper_gemm::emulator
