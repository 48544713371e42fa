// mbarriers: phase, pending arrivals and transaction bytes (PTX ISA, "mbarrier"), with the errors that hardware lets pass.
#include <cstring>
#include <string>

#include "costs.h"
#include "machine.h"

namespace hopper_gemm::emulator {

namespace {

// What a barrier's eight bytes hold: a tag and the index of its state.
constexpr uint64_t kTag = 0xBA221E12ull << 32;

std::string named_in(const Cta& cta, const Mbarrier& barrier) {
  return barrier_name(barrier) + " of CTA " + std::to_string(cta.block);
}

void check_observers(const Cta& cta, Mbarrier& barrier, Line line) {
  for (const Mbarrier::Observer& observer : barrier.observers)
    if (!barrier.arriving.knows(observer.seen)) {
      report(Finding::phase,
             named_in(cta, barrier) + " completes phase " + std::to_string(barrier.phase) + " (" + place(line) +
                 ") although nothing says that " + who(*observer.thread) + " has seen the end of phase " +
                 std::to_string(barrier.phase - 1) + " at " + place(observer.line) +
                 ": a slower thread there would find the barrier two phases on",
             "overrun" + place(line) + place(observer.line));
      break;
    }
  barrier.observers.clear();
}

void finish_phase(Cta& cta, Mbarrier& barrier, Line line) {
  if (barrier.pending != 0) return;
  if (barrier.tx_bytes < 0)
    report(Finding::tx_bytes,
           named_in(cta, barrier) + ": " + std::to_string(-barrier.tx_bytes) +
               " more bytes arrived than barrier_arrive_expect announced, at the end of phase " +
               std::to_string(barrier.phase) + " (" + place(line) + ")",
           "tx over" + place(line));
  if (barrier.tx_bytes != 0) return;
  check_observers(cta, barrier, line);
  ++barrier.phase;
  barrier.completed.join(barrier.arriving);
  barrier.completed.raise(component_of(cta, barrier.component), static_cast<uint32_t>(barrier.phase));
  barrier.arriving.clear();
  barrier.pending = barrier.arrivals;
  wake(barrier.waiters);
}

// `known`: what the arriving thread knew when it arrived.
void arrive(Cta& cta, Mbarrier& barrier, const std::string& from, const Clock& known, Line line) {
  if (barrier.pending == 0) {
    report(Finding::over_arrival,
           "on " + named_in(cta, barrier) + " by " + from + " at " + place(line) + ": all " +
               std::to_string(barrier.arrivals) + " arrivals of phase " + std::to_string(barrier.phase) +
               " have been made and " + std::to_string(barrier.tx_bytes) + " tx bytes are outstanding",
           "over-arrival" + place(line));
    return;
  }
  --barrier.pending;
  barrier.arriving.join(known);
  finish_phase(cta, barrier, line);
}

// A wait is for the first phase of its parity that the thread does not know to be over (or the one before). If the
// barrier has finished that phase and the next one, parity cannot tell them from the past: the wait blocks for nothing.
void check_not_behind(const Thread& thread, const Mbarrier& barrier, uint32_t parity, Line line) {
  const int64_t known = thread.clock.at(barrier.component);
  const int64_t wanted = (known & 1) == parity ? known : known - 1;
  if (static_cast<int64_t>(barrier.phase) < wanted + 2) return;
  report(Finding::phase,
         who(thread) + " at " + place(line) + " waits for phase " + std::to_string(wanted) + " of " + barrier_name(barrier) +
             ", which is in phase " + std::to_string(barrier.phase) + ": a waiter may be one phase behind, not " +
             std::to_string(static_cast<int64_t>(barrier.phase) - wanted),
         "phase behind" + place(line));
}

Mbarrier& own_barrier(uint64_t& state, const char* what, Line line) {
  Cta& cta = *self().cta;
  Mbarrier& barrier = barrier_at(cta, window_address(cta, &state, what, line), what, line);
  check_visible(cta, barrier, what, line);
  return barrier;
}

}  // namespace

Mbarrier& barrier_at(Cta& cta, uint32_t address, const char* what, Line line) {
  uint64_t tag;
  std::memcpy(&tag, shared_bytes_at(cta, address), sizeof tag);
  const uint64_t index = tag - kTag;
  if (index >= cta.barriers.size() || cta.barriers[index].address != address)
    fail(Finding::bad_barrier, std::string(what) + " at " + place(line) + ": shared byte " +
                                   std::to_string(address - kSharedStart) + " of CTA " + std::to_string(cta.block) +
                                   " holds no initialised barrier (never initialised, or overwritten by data)");
  return cta.barriers[index];
}

void check_visible(const Cta& cta, const Mbarrier& barrier, const char* what, Line line) {
  const Thread& thread = self();
  if (barrier.owner == &thread) return;
  if (cta.cluster->phase >= barrier.visible_at_cluster_phase) return;
  if (thread.cta == &cta && cta.syncs >= barrier.visible_at_sync) return;
  report(Finding::visibility,
         std::string(what) + " at " + place(line) + " by " + who(thread) + " uses " + named_in(cta, barrier) +
             " before its initialisation is visible: " +
             (barrier.fenced ? "no CTA or cluster barrier since" : "no barrier_init_fence by the initialising thread"),
         "visible" + place(line));
}

void publish_barriers(Thread& thread, bool cluster) {
  for (Mbarrier* barrier : thread.made) {
    if (!barrier->fenced) continue;
    uint64_t& visible = cluster ? barrier->visible_at_cluster_phase : barrier->visible_at_sync;
    if (visible == Mbarrier::kNever) visible = (cluster ? thread.cta->cluster->phase : thread.cta->syncs) + 1;
  }
}

void complete_bytes(Cta& cta, Mbarrier& barrier, uint32_t bytes, uint64_t phase_at_issue, Line line) {
  if (barrier.phase != phase_at_issue)
    report(Finding::tx_bytes,
           named_in(cta, barrier) + ": " + std::to_string(bytes) + " bytes of the TMA load at " + place(line) +
               " arrive in phase " + std::to_string(barrier.phase) + ", but were issued in phase " +
               std::to_string(phase_at_issue) + ", which has completed without them: too few bytes were announced",
           "tx late" + place(line));
  barrier.tx_bytes -= bytes;
  finish_phase(cta, barrier, line);
}

void barrier_init(uint64_t& state, uint32_t arrivals, Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t address = window_address(cta, &state, "barrier_init", line);
  if (address % 8 != 0) fail(Finding::alignment, "barrier_init at " + place(line) + ": the barrier is not 8-byte aligned");
  if (arrivals == 0 || arrivals >= 1u << 20)
    fail(Finding::bad_barrier, "barrier_init at " + place(line) + ": arrivals must be 1 to 2^20 - 1");
  uint64_t index = state - kTag;
  if (index >= cta.barriers.size() || cta.barriers[index].address != address) {
    index = cta.barriers.size();
    cta.barriers.emplace_back();
  } else if (!cta.barriers[index].waiters.empty()) {
    report(Finding::bad_barrier, "barrier_init at " + place(line) + " of a barrier that threads wait on");
  }
  Mbarrier& barrier = cta.barriers[index];
  barrier = Mbarrier{};
  barrier.address = address;
  barrier.arrivals = barrier.pending = arrivals;
  barrier.owner = &thread;
  thread.made.push_back(&barrier);
  state = kTag + index;
}

void barrier_init_fence(Line) {
  tick(costs::kBarrier);
  for (Mbarrier* barrier : self().made) barrier->fenced = true;
}

void barrier_arrive(uint64_t& state, Line line) {
  tick(costs::kBarrier);
  arrive(*self().cta, own_barrier(state, "barrier_arrive", line), who(self()), self().clock, line);
}

void barrier_arrive_expect(uint64_t& state, uint32_t bytes, Line line) {
  tick(costs::kBarrier);
  Mbarrier& barrier = own_barrier(state, "barrier_arrive_expect", line);
  barrier.tx_bytes += bytes;
  if (barrier.tx_bytes >= 1 << 20)
    report(Finding::tx_bytes,
           "barrier_arrive_expect at " + place(line) + ": more than 2^20 - 1 bytes outstanding on " + barrier_name(barrier));
  arrive(*self().cta, barrier, who(self()), self().clock, line);
}

void barrier_arrive_cluster(uint64_t& state, uint32_t rank, Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t address = window_address(cta, &state, "barrier_arrive_cluster", line);
  if (rank >= cta.cluster->ctas.size())
    fail(Finding::out_of_bounds,
         "barrier_arrive_cluster at " + place(line) + ": the cluster has no rank " + std::to_string(rank));
  Cta& target = *cta.cluster->ctas[rank];
  if (target.exited) {
    report(Finding::exit,
           "barrier_arrive_cluster at " + place(line) + " by " + who(thread) + " signals CTA " +
               std::to_string(target.block) + ", which has exited",
           "arrive exited" + place(line));
    return;
  }
  check_visible(target, barrier_at(target, address, "barrier_arrive_cluster", line), "barrier_arrive_cluster", line);
  if (&target == &cta) {
    arrive(cta, barrier_at(cta, address, "barrier_arrive_cluster", line), who(thread), thread.clock, line);
    return;
  }
  const Epoch arrival = {component_of(cta, thread.access_component), ++thread.accesses};
  thread.clock.raise(arrival.component, arrival.value);
  target.must_know("arrivals of another CTA", arrival, line);
  ++target.inbound;
  ++thread.remote_arrivals;
  machine->scheduler.post(
      machine->scheduler.now() + costs::kRemoteArrive, [&target, &thread, address, line, known = thread.clock] {
        --target.inbound;
        --thread.remote_arrivals;
        if (thread.waiting.on == Waiting::On::remote_arrivals && thread.remote_arrivals == 0) {
          thread.waiting.on = Waiting::On::nothing;
          machine->scheduler.make_ready(thread);
        }
        if (target.exited) return;  // reported when it exited
        arrive(target, barrier_at(target, address, "barrier_arrive_cluster", line), who(thread), known, line);
      });
}

void barrier_wait(uint64_t& state, uint32_t parity, arch::WaitPoint point, Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  Mbarrier& barrier = own_barrier(state, "barrier_wait", line);
  barrier.named = true;
  barrier.point = point;
  if (parity > 1) fail(Finding::bad_barrier, "barrier_wait at " + place(line) + ": parity must be 0 or 1");
  check_not_behind(thread, barrier, parity, line);
  const int64_t begin = machine->scheduler.clock();
  while ((barrier.phase & 1) == parity) {
    const uint64_t phase = barrier.phase;
    barrier.waiters.push_back(&thread);
    block_on({Waiting::On::mbarrier, &barrier, parity, point, 0, line});
    if (barrier.phase > phase + 1)
      report(Finding::phase,
             who(thread) + " at " + place(line) + " waits for phase " + std::to_string(phase) + " of " +
                 barrier_name(barrier) + ", which is now " + std::to_string(barrier.phase - phase) +
                 " phases further: nothing keeps the barrier from running ahead of this thread",
             "phase skipped" + place(line));
  }
  thread.clock.join(barrier.completed);
  if (barrier.phase > 0) {
    const Epoch seen = {component_of(*thread.cta, thread.access_component), ++thread.accesses};
    thread.clock.raise(seen.component, seen.value);
    barrier.observers.push_back({&thread, seen, line});
  }
  if (thread.lane == 0 && machine->scheduler.clock() > begin)
    add_span(SpanKind::wait, *thread.cta, thread.warpgroup->index, static_cast<int>(point.wait) * kSpanStages + point.stage,
             begin, machine->scheduler.clock());
}

}  // namespace hopper_gemm::emulator
