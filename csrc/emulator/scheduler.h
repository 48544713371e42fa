// Who goes next. Random mode: any ready thread or queued agent, drawn from the seed. Timed mode: the one with the
// smallest virtual time, which makes the run a discrete-event simulation.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "context.h"
#include "random.h"

namespace hopper_gemm::emulator {

struct Thread;

class Scheduler {
 public:
  using Agent = std::function<void()>;

  Scheduler(uint64_t seed, bool timed);

  void make_ready(Thread& thread);       // not earlier than now
  void post(int64_t time, Agent agent);  // an asynchronous operation; random mode ignores the time
  void tick(int cycles);                 // at the start of every operation of the running thread
  void block();                          // the running thread waits; somebody must make it ready
  void stop() { stopped_ = true; }       // ends loop() at the next switch
  [[noreturn]] void leave();             // the running thread never continues

  // Runs until nothing can run; `finished` is called for each thread that has returned.
  void loop(const std::function<void(Thread&)>& finished);

  int64_t now() const { return now_; }
  void set_now(int64_t time) { now_ = time; }
  int64_t steps() const { return steps_; }
  int64_t clock() const { return timed_ ? now_ : steps_; }
  bool stopped() const { return stopped_; }
  size_t queued_agents() const { return agents_.size(); }
  Thread* running() const { return running_; }
  Random& random() { return random_; }
  Context& host_context() { return host_; }

 private:
  struct Entry {
    int64_t time;
    uint64_t order;  // ties: first come, first served
    Thread* thread;
  };
  struct Queued {
    int64_t time;
    uint64_t order;
    Agent agent;
  };
  bool pick_agent();
  void run_agent();
  void resume(Thread& thread);
  Thread& pick_thread();
  bool lags(const Thread& thread) const;
  void yield();

  Random random_;
  bool timed_;
  bool stopped_ = false;
  int switch_bits_, agent_bits_;
  uint32_t lagging_, lagging_salt_;
  int64_t now_ = 0, steps_ = 0;
  uint64_t order_ = 0;
  std::vector<Entry> ready_;    // timed: a heap
  std::vector<Queued> agents_;  // timed: a heap
  Thread* running_ = nullptr;
  Context host_;
};

}  // namespace hopper_gemm::emulator
