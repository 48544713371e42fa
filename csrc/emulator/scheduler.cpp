// The main loop and the two ways of choosing who goes next.
#include "scheduler.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "state.h"

namespace hopper_gemm::emulator {

namespace {
// Heap order: the smallest (time, order) on top.
constexpr auto later = [](const auto& a, const auto& b) { return a.time != b.time ? a.time > b.time : a.order > b.order; };
}  // namespace

// How often threads are interrupted and how late agents run differ from seed to seed: some bugs need rare switches and
// long delays, others the opposite.
Scheduler::Scheduler(uint64_t seed, bool timed) : random_(seed), timed_(timed) {
  constexpr int kSwitchBits[] = {6, 4, 3, 1};
  constexpr int kAgentBits[] = {7, 4, 1};
  constexpr uint32_t kLagging[] = {0, 0, 7, 31};
  switch_bits_ = kSwitchBits[random_.below(4)];
  lagging_ = kLagging[random_.below(4)];
  lagging_salt_ = random_.next();
  agent_bits_ = kAgentBits[random_.below(3)];
}

void Scheduler::make_ready(Thread& thread) {
  thread.time = std::max(thread.time, now_);
  ready_.push_back({thread.time, order_++, &thread});
  if (timed_) std::push_heap(ready_.begin(), ready_.end(), later);
}

void Scheduler::post(int64_t time, Agent agent) {
  agents_.push_back({time, order_++, std::move(agent)});
  if (timed_) std::push_heap(agents_.begin(), agents_.end(), later);
}

void Scheduler::tick(int cycles) {
  if (timed_) {
    now_ += cycles;
    const bool before_threads = ready_.empty() || now_ <= ready_.front().time;
    const bool before_agents = agents_.empty() || now_ <= agents_.front().time;
    if (!before_threads || !before_agents) yield();
  } else if (random_.once_in(switch_bits_)) {
    yield();
  }
}

void Scheduler::yield() {
  running_->time = now_;
  make_ready(*running_);
  block();
}

void Scheduler::block() {
  running_->time = now_;
  switch_context(running_->context, host_);
}

void Scheduler::leave() {
  switch_context(running_->context, host_, true);
  std::abort();  // nobody continues a thread that has left
}

bool Scheduler::pick_agent() {
  if (agents_.empty()) return false;
  if (ready_.empty()) return true;
  if (timed_) return agents_.front().time <= ready_.front().time;
  return random_.once_in(agent_bits_);
}

void Scheduler::run_agent() {
  if (timed_) {
    std::pop_heap(agents_.begin(), agents_.end(), later);
    now_ = std::max(now_, agents_.back().time);
  } else {
    std::swap(agents_[random_.below(static_cast<uint32_t>(agents_.size()))], agents_.back());
  }
  const Agent agent = std::move(agents_.back().agent);
  agents_.pop_back();
  running_ = nullptr;
  agent();
}

// In half of the seeds some threads are slow: every 8th or 32nd, whichever those are.
bool Scheduler::lags(const Thread& thread) const {
  return lagging_ != 0 && (mix(thread.view.thread ^ lagging_salt_) & lagging_) == 0;
}

Thread& Scheduler::pick_thread() {
  if (timed_) {
    std::pop_heap(ready_.begin(), ready_.end(), later);
  } else {
    uint32_t index = random_.below(static_cast<uint32_t>(ready_.size()));
    for (int tries = 0; tries < 4 && lags(*ready_[index].thread); ++tries)
      index = random_.below(static_cast<uint32_t>(ready_.size()));
    std::swap(ready_[index], ready_.back());
  }
  Thread& thread = *ready_.back().thread;
  ready_.pop_back();
  return thread;
}

void Scheduler::resume(Thread& thread) {
  running_ = &thread;
  current_thread = &thread.view;
  if (timed_) now_ = thread.time;
  switch_context(host_, thread.context);
}

void Scheduler::loop(const std::function<void(Thread&)>& finished) {
  while (!stopped_ && !(ready_.empty() && agents_.empty())) {
    ++steps_;
    if (pick_agent()) {
      run_agent();
    } else {
      Thread& thread = pick_thread();
      resume(thread);
      if (thread.done) finished(thread);
    }
  }
  running_ = nullptr;
}

}  // namespace hopper_gemm::emulator
