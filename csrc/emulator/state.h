// The emulated machine's state: threads, warps, warpgroups, CTAs, clusters. Data only; the operations on it are in
// one file per instruction family.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "context.h"
#include "hazards.h"
#include "hopper_gemm/arch/emu/machine.h"
#include "hopper_gemm/core/config.h"

namespace hopper_gemm::emulator {

struct Warp;
struct Warpgroup;
struct Cta;
struct Cluster;
struct Thread;

// Addresses in a CTA's shared window: the system keeps the first KB, the dynamic segment follows.
constexpr uint32_t kSharedStart = 1024;

// An mbarrier. `phase` counts completed phases; the current one's parity is phase & 1.
struct Mbarrier {
  static constexpr uint64_t kNever = ~uint64_t{0};
  uint32_t address = 0;
  uint32_t arrivals = 0, pending = 0;
  int64_t tx_bytes = 0;
  uint64_t phase = 0;
  // Its initialisation is visible to the thread that made it, and to others once that thread has executed
  // barrier_init_fence and then a CTA or cluster barrier: the ones that complete with these counts.
  Thread* owner = nullptr;
  bool fenced = false;
  uint64_t visible_at_sync = kNever, visible_at_cluster_phase = kNever;
  // Happens-before: `component` counts completed phases; arrivals of the current phase bring what they know.
  uint32_t component = kNoComponent;
  Clock arriving, completed;
  // Waits that have seen the last completed phase: the next one must not complete before that is known to its arrivals,
  // or a slow thread would find the barrier two phases on.
  struct Observer {
    const Thread* thread;
    Epoch seen;
    Line line;
  };
  std::vector<Observer> observers;
  bool named = false;  // a waiter has said which barrier it is
  arch::WaitPoint point{};
  std::vector<Thread*> waiters;
};

// What a blocked thread waits for.
struct Waiting {
  enum class On : uint8_t {
    nothing,
    mbarrier,
    warp,
    warpgroup,
    registers,
    cta_barrier,
    named_barrier,
    cluster_barrier,
    wgmma,
    cp_async,
    store_read,
    remote_arrivals
  };
  On on = On::nothing;
  Mbarrier* barrier = nullptr;
  uint32_t parity = 0;
  arch::WaitPoint point{};
  int64_t amount = 0;  // barrier id, registers, groups: by kind
  Line line;
};

// Copies of cp.async that were issued together.
struct CopyGroup {
  struct Copy {
    uint32_t address;
    const void* source;
    uint32_t valid_bytes;
    Line line;
  };
  std::vector<Copy> copies;
  uint32_t number = 0;  // of the thread's groups, from 1
  bool done = false;
};

// TMA stores that were committed together.
struct StoreGroup {
  struct Store {
    uint32_t address, bytes;
  };
  std::vector<Store> stores;
  uint32_t number = 0;  // of the thread's groups, from 1
  int unread = 0;       // stores that still have to read shared memory
};

// Which sum an accumulator holds, if the operands' origins say so: rows m ..., columns n ... of the product, over
// k_begin <= k < k_end. One that began in the middle and has gone round (mainloop/k_order.h) also has what `before` stands for,
// from `limit` on.
struct Sum {
  bool known = false;
  int32_t m = 0, n = 0, k_begin = 0, k_end = 0, batch = 0;
  int32_t limit = 0;
  int64_t before = 0;

  // The wgmmas of mma_k elements that it has taken up, of `all` in K, each counted by its number, from 1: parts of a sum that
  // come twice do not make up for others.
  int64_t numbers(int32_t mma_k, int32_t all) const {
    return known ? before + numbers_to(std::min(k_end / mma_k, all)) - numbers_to(k_begin / mma_k) : 0;
  }
  static int64_t numbers_to(int64_t step) { return step * (step + 1) / 2; }
};

// A 64 x n accumulator that wgmmas in flight own; threads get their fragments back at the wait.
struct Accumulator {
  int n = 0;
  DataType type = DataType::f32;  // s32: the floats hold the bits
  int mma_k = 0;                  // elements of K that one wgmma adds
  Sum sum;
  int holders = 0;  // threads and operations that still refer to it
  std::vector<float> values;
};

struct Thread {
  ThreadView view{};
  Context context;
  void* stack = nullptr;
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Warpgroup* warpgroup = nullptr;
  int lane = 0;
  int64_t time = 0;
  bool done = false;
  Waiting waiting;
  Clock clock;  // what this thread knows to have happened
  uint32_t copies_component = kNoComponent, stores_component = kNoComponent;
  uint32_t access_component = kNoComponent, accesses = 0;  // ordinary accesses and arrivals at other CTAs
  uint32_t copy_groups_begun = 1, store_groups_begun = 1;  // the open one included

  // wgmma: position in the sequence of operations its warpgroup executes,
  uint64_t warpgroup_operations = 0;
  // and accumulators in flight, by the address of this thread's registers.
  struct Binding {
    uint32_t* registers;
    Accumulator* accumulator;
    int64_t group;  // the last group that writes it
  };
  std::vector<Binding> bindings;
  std::vector<std::pair<uint32_t*, Sum>> sums;  // what the registers hold now (thread 0 of a warpgroup keeps them)
  int64_t mma_groups = 0;
  bool mma_fenced = false;
  bool previous_grid_awaited = false;

  std::deque<std::shared_ptr<CopyGroup>> copy_groups;
  std::shared_ptr<CopyGroup> open_copies;
  std::deque<std::shared_ptr<StoreGroup>> store_groups;
  std::shared_ptr<StoreGroup> open_stores;

  std::vector<uint32_t> unfenced;  // 16-byte units written through the generic proxy since the last proxy fence
  std::vector<Mbarrier*> made;     // barriers initialised by this thread that others may not use yet
  int remote_arrivals = 0;         // of this thread, still on their way to other CTAs
  bool cluster_arrived = false;    // and has not waited yet, for the phase
  uint64_t cluster_target = 0;
  size_t annotations = 0;
};

struct Warp {
  Cta* cta = nullptr;
  int index = 0;  // in the CTA
  // The operation (elect, shuffle, stmatrix, ...) that its lanes are gathering for.
  const char* operation = "";
  Line line;
  int arrived = 0;
  uint64_t operations = 0;  // completed
  std::vector<Thread*> waiters;
  uint32_t value = 0;  // of the last completed operation: elected lane, or lane 0's value
  uint32_t lane_0_value = 0;
  uint32_t component = kNoComponent;  // counts operations
  Clock arriving, gathered;           // of the lanes that have come, and of the last completed operation
  std::array<std::array<uint32_t, 4>, 32> matrix_registers{};  // stmatrix
  std::array<uint32_t, 32> matrix_rows{};
};

// An operation executed by all threads of a warpgroup, in order.
struct WarpgroupOperation {
  enum class Kind : uint8_t { fence, mma, commit };
  Kind kind;
  Line line;
  int arrived = 0;
  WgmmaCall call{};
  Accumulator* accumulator = nullptr;
  uint32_t access = 0;                                 // in the CTA's shadow
  std::vector<std::pair<uint32_t, uint32_t>> written;  // a unit of each write it reads, and the write
  Sum product;                                         // where in the result, which k, if known
};

struct Warpgroup {
  Cta* cta = nullptr;
  int index = 0;
  int registers = 0;     // per thread
  int changing = 0;      // threads that have come to setmaxnreg
  uint64_t changes = 0;  // completed
  uint64_t first_operation = 0;
  std::deque<WarpgroupOperation> operations;
  int64_t groups_done = 0;
  int64_t mma_begin = -1;             // when the first wgmma of the running group was issued
  uint32_t component = kNoComponent;  // the first of four: groups each warp has waited for
  std::vector<Thread*> waiters;
  std::vector<std::unique_ptr<Accumulator>> accumulators;
  struct Reads {
    int64_t group;
    std::vector<uint32_t> units;
  };
  std::deque<Reads> reads;  // shared memory that unretired wgmmas read

  // For reports and timelines.
  std::vector<std::pair<arch::Activity, int>> activities;
  int64_t activity_begin = 0;
  bool loads = false, multiplies = false;
};

struct NamedBarrier {
  uint32_t expected = 0;
  Line line;
  Clock arriving;
  std::vector<Thread*> waiters;
};

struct Cta {
  Cluster* cluster = nullptr;
  uint32_t block = 0, rank = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  unsigned char* shared = nullptr;
  uint32_t shared_bytes = 0;
  std::vector<unsigned char> shared_storage;
  SharedShadow shadow;
  std::deque<Mbarrier> barriers;
  std::array<NamedBarrier, 16> named;  // 0 is cta_sync
  uint64_t syncs = 0;                  // completed cta_syncs
  int free_registers = 0;              // a warpgroup's thread, of the pool that setmaxnreg moves
  std::vector<Thread*> register_waiters;
  int running_threads = 0;
  int inbound = 0;  // queued operations that will still write to this CTA or signal it
  // What reaches into this CTA from outside or on its own: somebody here must know it is over before the CTA exits.
  struct Inbound {
    const char* what;
    Epoch end;
    Line line;
  };
  std::vector<Inbound> inbound_accesses;  // the newest of each component
  std::vector<uint32_t> inbound_index;    // by component: place in inbound_accesses + 1
  Clock exit_clock;                       // what the threads that have exited knew
  void must_know(const char* what, const Epoch& end, Line line) {
    if (end.component >= inbound_index.size()) inbound_index.resize(end.component + 1);
    uint32_t& index = inbound_index[end.component];
    if (index == 0) {
      inbound_accesses.push_back({what, end, line});
      index = static_cast<uint32_t>(inbound_accesses.size());
    } else {
      inbound_accesses[index - 1] = {what, end, line};
    }
  }
  bool exited = false;
  int64_t tensor_core_free = 0, load_port_free = 0, store_port_free = 0;  // timed mode
};

struct Cluster {
  std::vector<std::unique_ptr<Cta>> ctas;
  int running_threads = 0;
  int total_threads = 0;
  int arrived = 0;  // at the cluster barrier, not counting threads that have exited
  uint64_t phase = 0;
  Clock arriving, completed;
  uint32_t components = 0;  // of clocks, in use
  std::vector<Thread*> waiters;
};

}  // namespace hopper_gemm::emulator
