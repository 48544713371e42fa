// wgmma: a warpgroup's operations form one sequence. An operation is issued when all 128 threads have executed it, runs
// (in order, on the CTA's tensor core) at a moment of the scheduler's choice, and gives the accumulators back at the
// wait. Until then the threads' registers hold poison.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "costs.h"
#include "hopper_gemm/arch/emu/numeric.h"
#include "machine.h"
#include "mma.h"
#include "products.h"

namespace hopper_gemm::emulator {

namespace {

using Kind = WarpgroupOperation::Kind;

int register_count(const Accumulator& accumulator) { return accumulator_registers(accumulator.type, accumulator.n); }

// The place of register i of thread t in the 64 x n accumulator (PTX ISA, "Register fragments"; f16: the even column).
int element_of(const Accumulator& accumulator, int t, int i) {
  const int pair = accumulator.type == DataType::f16 ? i : i / 2;
  const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (pair % 2);
  const int column = 8 * (pair / 2) + 2 * (t % 4) + (accumulator.type == DataType::f16 ? 0 : i % 2);
  return row * accumulator.n + column;
}

// Moves a thread's fragment into the accumulator and leaves poison, or back.
void take_fragment(Accumulator& accumulator, int t, uint32_t* registers) {
  for (int i = 0; i < register_count(accumulator); ++i) {
    float* element = &accumulator.values[element_of(accumulator, t, i)];
    if (accumulator.type == DataType::f16) {
      element[0] = float_from_f16(static_cast<uint16_t>(registers[i]));
      element[1] = float_from_f16(static_cast<uint16_t>(registers[i] >> 16));
    } else {
      element[0] = std::bit_cast<float>(registers[i]);
    }
  }
}

void poison_fragment(const Accumulator& accumulator, uint32_t* registers) {
  std::fill_n(registers, register_count(accumulator), poison_of(accumulator.type));
}

bool still_poisoned(const Accumulator& accumulator, const uint32_t* registers) {
  const uint32_t poison = poison_of(accumulator.type);
  return std::all_of(registers, registers + register_count(accumulator), [poison](uint32_t r) { return r == poison; });
}

uint32_t packed(const Accumulator& accumulator, float first, float second) {
  if (accumulator.type != DataType::f16) return std::bit_cast<uint32_t>(first);  // of s32 the bits are moved
  return f16_from_float(first) | static_cast<uint32_t>(f16_from_float(second)) << 16;
}

void give_fragment(const Accumulator& accumulator, int t, uint32_t* registers) {
  for (int i = 0; i < register_count(accumulator); ++i) {
    const float* element = &accumulator.values[element_of(accumulator, t, i)];
    registers[i] = packed(accumulator, element[0], accumulator.type == DataType::f16 ? element[1] : 0.0f);
  }
}

// Without arithmetic: what the element's place says, times the part of K that the sum has taken up.
void give_protocol_values(const Accumulator& accumulator, int t, uint32_t* registers) {
  const Sum& sum = accumulator.sum;
  const int steps = ceil_div(machine->params.k, accumulator.mma_k);
  const float share = static_cast<float>(sum.numbers(accumulator.mma_k, steps)) / static_cast<float>(Sum::numbers_to(steps));
  const auto value = [&](int element) {
    const float whole = share * static_cast<float>(protocol_value(sum.m + element / accumulator.n,
                                                                  sum.n + element % accumulator.n, sum.batch));
    return accumulator.type == DataType::s32 ? std::bit_cast<float>(static_cast<int32_t>(std::lround(whole))) : whole;
  };
  for (int i = 0; i < register_count(accumulator); ++i) {
    const int element = element_of(accumulator, t, i);
    registers[i] = packed(accumulator, value(element), value(element + 1));
  }
}

Accumulator* free_accumulator(Warpgroup& warpgroup, const WgmmaCall& call) {
  auto& all = warpgroup.accumulators;
  auto found = std::find_if(all.begin(), all.end(), [](const auto& a) { return a->holders == 0; });
  if (found == all.end()) found = all.insert(all.end(), std::make_unique<Accumulator>());
  (*found)->n = call.n;
  (*found)->type = call.accumulator;
  (*found)->mma_k = kMmaKBytes / element_bytes(call.a_type);
  (*found)->values.resize(kMmaM * call.n);
  return found->get();
}

// The running thread's next operation in the warpgroup's sequence; the first thread to come creates it.
WarpgroupOperation& next_operation(Kind kind, Line line) {
  Thread& thread = self();
  Warpgroup& warpgroup = *thread.warpgroup;
  const uint64_t index = thread.warpgroup_operations++ - warpgroup.first_operation;
  if (index == warpgroup.operations.size()) {
    WarpgroupOperation& next = warpgroup.operations.emplace_back();
    next.kind = kind;
    next.line = line;
  }
  WarpgroupOperation& operation = warpgroup.operations[index];
  if (operation.kind != kind || operation.line.line() != line.line())
    fail(Finding::diverged, "diverged warpgroup: " + who(thread) + " executes a wgmma operation at " + place(line) +
                                " where other threads execute " + place(operation.line));
  ++operation.arrived;
  return operation;
}

// The first thread of the warpgroup has come: from now on the operation may read. Notes which writes it relies on and
// which elements it multiplies.
void begin_reads(Warpgroup& warpgroup, WarpgroupOperation& operation, int64_t group, const Thread& issuer) {
  Cta& cta = *warpgroup.cta;
  const WgmmaCall& call = operation.call;
  // Its reads are over for somebody who knows that each of the four warps has waited for it.
  const Epoch end = {component_of(cta, warpgroup.component, kWarpsPerWarpgroup), static_cast<uint32_t>(group + 1),
                     kWarpsPerWarpgroup};
  operation.access = cta.shadow.add(access(Access::By::wgmma, issuer, operation.line, end));
  Warpgroup::Reads reads{group, {}};
  const auto add = [&](uint64_t bits, Major major, DataType type, int extent, const char* operand) {
    const std::string error = descriptor_error(bits);
    if (!error.empty())
      fail(Finding::out_of_bounds, "wgmma at " + place(operation.line) + ": descriptor of " + operand + ": " + error);
    OriginCheck origins(cta, operation.line, operand, major);
    for_each_operand_unit(Descriptor::decode(bits), major, type, extent, [&](uint32_t address, int mn, int k) {
      if (address < kSharedStart || address - kSharedStart + 16 > cta.shared_bytes)
        fail(Finding::out_of_bounds, "wgmma at " + place(operation.line) + ": the descriptor of " + operand +
                                         " reads element (" + std::to_string(mn) + ", k " + std::to_string(k) +
                                         ") at shared-window address " + std::to_string(address) + ", outside the CTA's " +
                                         std::to_string(cta.shared_bytes) + " bytes from " + std::to_string(kSharedStart));
      const uint32_t unit = (address - kSharedStart) / 16, writer = cta.shadow.writer(unit);
      const auto known = [writer](const auto& entry) { return entry.second == writer; };
      if (operation.written.empty() || (operation.written.back().second != writer &&
                                        std::none_of(operation.written.begin(), operation.written.end(), known)))
        operation.written.emplace_back(unit, writer);
      origins.add(unit, mn, k);
      reads.units.push_back(unit);
    });
    return origins;
  };
  const OriginCheck a = add(call.descriptor_a, call.a_major, call.a_type, kMmaM, "A");
  const OriginCheck b = add(call.descriptor_b, call.b_major, call.b_type, call.n, "B");
  operation.product = product_of(a, b, kMmaKBytes / element_bytes(call.a_type), operation.line);
  for (const uint32_t unit : reads.units) cta.shadow.begin_read(unit, 1, operation.access);
  warpgroup.reads.push_back(std::move(reads));
}

// Removes finished operations from the front: fences and commits cost nothing.
void drop_finished(Warpgroup& warpgroup) {
  while (!warpgroup.operations.empty()) {
    const WarpgroupOperation& front = warpgroup.operations.front();
    if (front.kind == Kind::mma || front.arrived != kWarpgroupThreads) return;
    if (front.kind == Kind::commit) {
      add_span(SpanKind::mma, *warpgroup.cta, warpgroup.index, static_cast<int>(warpgroup.groups_done), warpgroup.mma_begin,
               machine->scheduler.clock());
      warpgroup.mma_begin = -1;
      ++warpgroup.groups_done;
      wake(warpgroup.waiters);
    }
    warpgroup.operations.pop_front();
    ++warpgroup.first_operation;
  }
}

// The tensor core executes the warpgroup's next wgmma.
void execute_next(Warpgroup& warpgroup) {
  static MmaOperands operands;  // one machine at a time
  WarpgroupOperation& operation = warpgroup.operations.front();
  const WgmmaCall& call = operation.call;
  add_product(operation);
  if (!machine->options.protocol_only) {
    const unsigned char* shared = warpgroup.cta->shared - kSharedStart;
    read_operands(shared, call, operands);
    multiply(operands, call, operation.accumulator->values.data());
  }
  --operation.accumulator->holders;
  warpgroup.operations.pop_front();
  ++warpgroup.first_operation;
  drop_finished(warpgroup);
}

// Binds the thread's registers to the operation's accumulator, unless an earlier wgmma in flight already has.
void bind(WarpgroupOperation& operation, const WgmmaCall& call, uint32_t* registers, Line line) {
  Thread& thread = self();
  for (Thread::Binding& binding : thread.bindings)
    if (binding.registers == registers) {
      if (operation.accumulator == nullptr) operation.accumulator = binding.accumulator;
      const Accumulator& bound = *binding.accumulator;
      if (operation.accumulator != &bound || bound.n != call.n || bound.type != call.accumulator)
        fail(Finding::accumulator,
             "wgmma at " + place(line) + " by " + who(thread) +
                 ": its accumulator is in flight in another shape or another order than that of the other threads");
      binding.group = thread.mma_groups;
      return;
    }
  if (operation.accumulator == nullptr) operation.accumulator = free_accumulator(*thread.warpgroup, call);
  ++operation.accumulator->holders;
  if (!thread.mma_fenced)
    report(Finding::wgmma_fence,
           "missing wgmma_fence before the wgmma at " + place(line) + " by " + who(thread) +
               ": its accumulator registers may have been written since the last one",
           "wgmma fence" + place(line));
  if (call.accumulate && still_poisoned(*operation.accumulator, registers))
    report(Finding::accumulator,
           "wgmma at " + place(line) + " by " + who(thread) + " adds to accumulators that nothing has written",
           "accumulator unwritten" + place(line));
  const int t = static_cast<int>(thread.view.thread) % kWarpgroupThreads;
  if (t == 0) operation.accumulator->sum = sum_of(thread, registers);
  if (!machine->options.protocol_only) take_fragment(*operation.accumulator, t, registers);
  poison_fragment(*operation.accumulator, registers);
  thread.bindings.push_back({registers, operation.accumulator, thread.mma_groups});
}

}  // namespace

void wgmma(const WgmmaCall& call, void* registers, Line line) {
  tick(costs::kIssue);
  Thread& thread = self();
  Warpgroup& warpgroup = *thread.warpgroup;
  WarpgroupOperation& operation = next_operation(Kind::mma, line);
  if (operation.arrived == 1) {
    operation.call = call;
  } else if (operation.call.descriptor_a != call.descriptor_a || operation.call.descriptor_b != call.descriptor_b ||
             operation.call.accumulate != call.accumulate) {
    fail(Finding::diverged, "wgmma at " + place(line) + " by " + who(thread) +
                                ": descriptors or the accumulate flag differ within the warpgroup");
  }
  const bool first = operation.accumulator == nullptr;
  bind(operation, call, static_cast<uint32_t*>(registers), line);
  if (first) {
    ++operation.accumulator->holders;  // the operation itself
    begin_reads(warpgroup, operation, thread.mma_groups, thread);
  }
  // Each warp executes its part on its own: every thread must have waited for what the operation reads.
  for (const auto& [unit, writer] : operation.written)
    warpgroup.cta->shadow.check_ordered_read(unit, writer, operation.access, thread.clock);
  if (operation.arrived < kWarpgroupThreads) return;
  if (warpgroup.mma_begin < 0) warpgroup.mma_begin = machine->scheduler.clock();
  int64_t& free_at = warpgroup.cta->tensor_core_free;
  free_at = std::max(free_at, machine->scheduler.now()) + costs::wgmma_cycles(call.n);
  machine->scheduler.post(free_at, [&warpgroup] { execute_next(warpgroup); });
}

void wgmma_fence(Line line) {
  tick(costs::kRegister);
  self().mma_fenced = true;
  next_operation(Kind::fence, line);
  drop_finished(*self().warpgroup);
}

void wgmma_commit(Line line) {
  tick(costs::kRegister);
  if (gather_warp("wgmma_commit", line)) release_warp();
  ++self().mma_groups;
  next_operation(Kind::commit, line);
  drop_finished(*self().warpgroup);
}

void wgmma_wait(int groups, Line line) {
  tick(costs::kRegister);
  Thread& thread = self();
  Warpgroup& warpgroup = *thread.warpgroup;
  const int64_t target = thread.mma_groups - groups;
  while (warpgroup.groups_done < target) {
    warpgroup.waiters.push_back(&thread);
    block_on({Waiting::On::wgmma, nullptr, 0, {}, target, line});
  }
  const uint32_t component = component_of(*thread.cta, warpgroup.component, kWarpsPerWarpgroup);
  thread.clock.raise(component + thread.warp->index % kWarpsPerWarpgroup,
                     static_cast<uint32_t>(std::max<int64_t>(0, target)));
  // Groups retire for the whole warpgroup when one thread knows: it has issued them as a unit.
  while (!warpgroup.reads.empty() && warpgroup.reads.front().group < target) {
    for (const uint32_t unit : warpgroup.reads.front().units) warpgroup.cta->shadow.end_read(unit, 1);
    warpgroup.reads.pop_front();
  }
  std::erase_if(thread.bindings, [&](const Thread::Binding& binding) {
    if (binding.group >= target) return false;
    if (!still_poisoned(*binding.accumulator, binding.registers))
      report(Finding::accumulator,
             "accumulator written between wgmma and the wgmma_wait at " + place(line) + " by " + who(thread),
             "accumulator written" + place(line));
    const int t = static_cast<int>(thread.view.thread) % kWarpgroupThreads;
    if (machine->options.protocol_only)
      give_protocol_values(*binding.accumulator, t, binding.registers);
    else
      give_fragment(*binding.accumulator, t, binding.registers);
    if (t == 0) sum_of(thread, binding.registers) = binding.accumulator->sum;
    --binding.accumulator->holders;
    thread.mma_fenced = false;
    return true;
  });
}

}  // namespace hopper_gemm::emulator
