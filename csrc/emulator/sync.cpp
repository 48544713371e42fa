// CTA-wide, named and cluster barriers (PTX ISA, "barrier{.cta}", "barrier.cluster").
#include "costs.h"
#include "machine.h"

namespace hopper_gemm::emulator {

namespace {

// All 32 lanes of a warp or none of it may take part in an aligned barrier.
void check_whole_warps(const NamedBarrier& barrier, uint32_t id) {
  const Cta& cta = *barrier.waiters.front()->cta;
  std::vector<int> lanes(cta.warps.size());
  for (const Thread* thread : barrier.waiters) ++lanes[thread->warp->index];
  for (size_t warp = 0; warp < lanes.size(); ++warp)
    if (lanes[warp] != 0 && lanes[warp] != 32)
      report(Finding::named_barrier,
             "barrier " + std::to_string(id) + " at " + place(barrier.line) + ": only " + std::to_string(lanes[warp]) +
                 " lanes of warp " + std::to_string(warp) + " of CTA " + std::to_string(cta.block) + " take part",
             "barrier warps" + place(barrier.line));
}

void sync(uint32_t id, uint32_t threads, Waiting::On on, Line line) {
  Thread& thread = self();
  NamedBarrier& barrier = thread.cta->named[id];
  if (barrier.waiters.empty()) {
    barrier.expected = threads;
    barrier.line = line;
  } else if (barrier.expected != threads) {
    report(Finding::named_barrier,
           "named barrier " + std::to_string(id) + ": " + who(thread) + " at " + place(line) + " expects " +
               std::to_string(threads) + " threads, others at " + place(barrier.line) + " expect " +
               std::to_string(barrier.expected),
           "named count" + place(line));
  }
  barrier.waiters.push_back(&thread);
  barrier.arriving.join(thread.clock);
  if (barrier.waiters.size() < barrier.expected) {
    block_on({on, nullptr, 0, {}, static_cast<int64_t>(id), line});
    return;
  }
  check_whole_warps(barrier, id);
  for (Thread* waiter : barrier.waiters) waiter->clock.join(barrier.arriving);
  barrier.arriving.clear();
  barrier.waiters.pop_back();
  if (on == Waiting::On::cta_barrier) ++thread.cta->syncs;
  wake(barrier.waiters);
}

void finish_cluster_phase(Cluster& cluster) {
  if (cluster.running_threads == 0 || cluster.arrived < cluster.running_threads) return;
  cluster.arrived = 0;
  ++cluster.phase;
  cluster.completed.join(cluster.arriving);
  cluster.arriving.clear();
  wake(cluster.waiters);
}

}  // namespace

void cta_sync(Line line) {
  tick(costs::kBarrier);
  publish_barriers(self(), false);
  sync(0, static_cast<uint32_t>(self().cta->threads.size()), Waiting::On::cta_barrier, line);
}

void named_barrier_sync(uint32_t id, uint32_t threads, Line line) {
  tick(costs::kBarrier);
  if (id < 1 || id > 15)
    fail(Finding::named_barrier, "named_barrier_sync at " + place(line) + ": id " + std::to_string(id) + " is not 1 to 15");
  if (threads == 0 || threads % 32 != 0 || threads > self().cta->threads.size())
    fail(Finding::named_barrier, "named_barrier_sync at " + place(line) + ": " + std::to_string(threads) +
                                     " threads is not a multiple of 32 within the CTA");
  sync(id, threads, Waiting::On::named_barrier, line);
}

void cluster_arrive(Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  Cluster& cluster = *thread.cta->cluster;
  if (thread.cluster_arrived) {
    report(Finding::named_barrier,
           "cluster_arrive at " + place(line) + " by " + who(thread) + ": arrives twice without cluster_wait",
           "cluster twice" + place(line));
    return;
  }
  // Arriving releases: what this thread has sent to other CTAs is there before it counts as arrived.
  while (thread.remote_arrivals != 0) block_on({Waiting::On::remote_arrivals, nullptr, 0, {}, 0, line});
  publish_barriers(thread, true);
  thread.cluster_arrived = true;
  cluster.arriving.join(thread.clock);
  thread.cluster_target = cluster.phase + 1;
  ++cluster.arrived;
  finish_cluster_phase(cluster);
}

void cluster_wait(Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  Cluster& cluster = *thread.cta->cluster;
  if (!thread.cluster_arrived) {
    report(Finding::named_barrier, "cluster_wait at " + place(line) + " by " + who(thread) + " without cluster_arrive",
           "cluster wait" + place(line));
    return;
  }
  thread.cluster_arrived = false;
  while (cluster.phase < thread.cluster_target) {
    cluster.waiters.push_back(&thread);
    block_on({Waiting::On::cluster_barrier, nullptr, 0, {}, 0, line});
  }
  thread.clock.join(cluster.completed);
}

// A thread that has exited counts as arrived for ever after.
void cluster_thread_exited(Thread& thread) {
  Cluster& cluster = *thread.cta->cluster;
  if (thread.cluster_arrived && cluster.phase < thread.cluster_target) --cluster.arrived;
  --cluster.running_threads;
  finish_cluster_phase(cluster);
}

}  // namespace hopper_gemm::emulator
