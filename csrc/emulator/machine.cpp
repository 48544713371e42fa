// Runs a grid: starts clusters in free slots, runs the scheduler until every thread has returned, reports what is stuck.
#include "machine.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "stack_pool.h"

namespace hopper_gemm::emulator {

Machine* machine = nullptr;
const ThreadView* current_thread = nullptr;

namespace {

struct Stop {};  // ends the run: thrown by fail(), out of a thread or an agent

// Every emulated thread starts here.
void thread_main() {
  finish_first_switch(machine->scheduler.host_context());
  try {
    if (machine->launch.body) {
      machine->launch.body();
    } else {
      machine->launch.kernel(machine->params);
    }
    check_thread_exit(self());
  } catch (const Stop&) {
  } catch (...) {
    machine->error = std::current_exception();
    machine->scheduler.stop();
  }
  self().done = true;
  machine->scheduler.leave();
}

}  // namespace

Machine::Machine(const Launch& launch, const GemmParams& params, const EmulatorOptions& options)
    : launch(launch),
      params(params),
      options(options),
      scheduler(options.seed, options.timed),
      epilogue(params, stored_output().first, stored_output().second) {}

Machine::~Machine() {
  for (auto& cluster : clusters)
    for (auto& cta : cluster->ctas)
      for (Thread& thread : cta->threads)
        if (thread.stack != nullptr) StackPool::instance().give(thread.stack);
}

EmulatorReport Machine::run() {
  const int64_t total = launch.grid / launch.cluster;
  const int64_t slots = std::min<int64_t>(total, std::max(1, options.sm_count / launch.cluster));
  for (int64_t i = 0; i < slots; ++i) {
    clusters.push_back(std::make_unique<Cluster>());
    start_cluster(*clusters.back());
  }
  try {
    scheduler.loop([this](Thread& thread) { thread_finished(thread); });
  } catch (const Stop&) {
  }
  if (error) std::rethrow_exception(error);
  if (!scheduler.stopped()) report_deadlock();
  for (const auto& cluster : clusters)
    for (const auto& cta : cluster->ctas)
      if (cta->running_threads != 0)
        for (Warpgroup& warpgroup : cta->warpgroups) close_activity(warpgroup);
  return {findings, trace, spans, scheduler.steps(), stmatrix_rows, stmatrix_cycles, early_a, early_b};
}

void Machine::start_cluster(Cluster& cluster) {
  cluster.arrived = 0;
  cluster.phase = 0;
  cluster.arriving.clear();
  cluster.completed.clear();
  cluster.components = 0;
  cluster.waiters.clear();
  cluster.total_threads = cluster.running_threads = launch.cluster * launch.threads;
  cluster.ctas.resize(launch.cluster);
  const int64_t index = next_cluster++;
  for (int rank = 0; rank < launch.cluster; ++rank) {
    if (!cluster.ctas[rank]) cluster.ctas[rank] = std::make_unique<Cta>();
    Cta& cta = *cluster.ctas[rank];
    cta.cluster = &cluster;
    cta.rank = rank;
    start_cta(cta, static_cast<uint32_t>(index * launch.cluster + rank));
  }
}

void Machine::start_cta(Cta& cta, uint32_t block) {
  cta.block = block;
  if (cta.threads.empty()) {
    cta.threads.resize(launch.threads);
    for (Thread& thread : cta.threads) thread.stack = StackPool::instance().take();
    cta.shared_bytes = launch.shared_bytes;
    cta.shared_storage.resize(launch.shared_bytes + 1024);
    const uintptr_t storage = reinterpret_cast<uintptr_t>(cta.shared_storage.data());
    cta.shared = reinterpret_cast<unsigned char*>((storage + 1023) & ~uintptr_t{1023});
  }
  std::memset(cta.shared, 0xFF, cta.shared_bytes);
  cta.shadow.reset(block, cta.shared_bytes);
  cta.barriers.clear();
  cta.named = {};
  cta.syncs = 0;
  cta.free_registers = 0;
  cta.register_waiters.clear();
  cta.running_threads = launch.threads;
  cta.inbound = 0;
  cta.inbound_accesses.clear();
  cta.inbound_index.clear();
  cta.exit_clock.clear();
  cta.exited = false;
  cta.warps = std::vector<Warp>((launch.threads + 31) / 32);
  cta.warpgroups = std::vector<Warpgroup>((launch.threads + kWarpgroupThreads - 1) / kWarpgroupThreads);
  for (size_t i = 0; i < cta.warps.size(); ++i) {
    cta.warps[i].cta = &cta;
    cta.warps[i].index = static_cast<int>(i);
  }
  for (size_t i = 0; i < cta.warpgroups.size(); ++i) {
    cta.warpgroups[i].cta = &cta;
    cta.warpgroups[i].index = static_cast<int>(i);
    cta.warpgroups[i].registers = launch.entry_registers;
  }
  for (int i = 0; i < launch.threads; ++i) {
    Thread& thread = cta.threads[i];
    void* stack = thread.stack;
    thread = Thread{};
    thread.stack = stack;
    thread.view = {static_cast<uint32_t>(i), block, static_cast<uint32_t>(launch.grid), cta.rank, cta.shared};
    thread.cta = &cta;
    thread.warp = &cta.warps[i / 32];
    thread.warpgroup = &cta.warpgroups[i / kWarpgroupThreads];
    thread.lane = i % 32;
    prepare_context(thread.context, stack, StackPool::kStackBytes, thread_main);
    scheduler.make_ready(thread);
  }
}

void Machine::thread_finished(Thread& thread) {
  Cta& cta = *thread.cta;
  Cluster& cluster = *cta.cluster;
  cluster_thread_exited(thread);
  cta.exit_clock.join(thread.clock);
  if (--cta.running_threads == 0) {
    cta.exited = true;
    if (!scheduler.stopped()) check_cta_exit(cta);
    if (cta.inbound != 0) {
      report(Finding::exit,
             "CTA " + std::to_string(cta.block) + " exits while " + std::to_string(cta.inbound) +
                 " TMA loads or arrivals on their way to it are still in flight",
             "exit inbound");
      scheduler.stop();  // what is in flight would hit the next CTA in this place
    }
    for (Warpgroup& warpgroup : cta.warpgroups) {
      close_activity(warpgroup);
      if (!warpgroup.operations.empty()) scheduler.stop();  // reported by check_thread_exit
    }
  }
  if (cluster.running_threads == 0 && next_cluster * launch.cluster < launch.grid) start_cluster(cluster);
}

void Machine::report_deadlock() {
  for (const auto& cluster : clusters)
    if (cluster->running_threads != 0) {
      report(Finding::deadlock, deadlock_text(*this), "deadlock");
      return;
    }
}

void block_on(const Waiting& waiting) {
  Thread& thread = self();
  thread.waiting = waiting;
  machine->scheduler.block();
  thread.waiting.on = Waiting::On::nothing;
}

void wake(std::vector<Thread*>& waiters) {
  for (Thread* thread : waiters) machine->scheduler.make_ready(*thread);
  waiters.clear();
}

void report(Finding kind, const std::string& text, const std::string& key) {
  constexpr size_t kMost = 32;
  if (machine->findings.size() < kMost && machine->finding_keys.insert(name_of(kind) + key).second)
    machine->findings.push_back(std::string(name_of(kind)) + ": " + text);
}

void fail(Finding kind, const std::string& text) {
  report(kind, text);
  machine->scheduler.stop();
  throw Stop{};
}

EmulatorReport run(const Launch& launch, const GemmParams& params, const EmulatorOptions& options) {
  static std::mutex one_machine;
  const std::lock_guard<std::mutex> lock(one_machine);
  const auto reject = [](const std::string& text) { throw Error(Error::Kind::value, "emulator: " + text); };
  if (launch.cluster < 1 || launch.grid % launch.cluster != 0) reject("the grid is not a whole number of clusters");
  if (launch.threads < 32 || launch.threads > 1024 || launch.threads % 32 != 0)
    reject("a CTA has 32 to 1024 threads, in whole warps");
  if (launch.shared_bytes < 0 || launch.shared_bytes > kSharedMemoryBytes)
    reject("a CTA has at most " + std::to_string(kSharedMemoryBytes) + " bytes of dynamic shared memory");
  Machine running(launch, params, options);
  machine = &running;
  struct Clear {
    ~Clear() { machine = nullptr; }
  } clear;
  return running.run();
}

}  // namespace hopper_gemm::emulator
