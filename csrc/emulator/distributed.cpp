// Ordinary accesses to shared memory, and reads of another CTA's (distributed shared memory): ordered by barriers
// alone, so only happens-before can tell a race.
#include <cstring>

#include "costs.h"
#include "hopper_gemm/arch/emu/numeric.h"
#include "machine.h"

namespace hopper_gemm::emulator {

namespace {

// The running thread's next ordinary access: over at once, but only this thread knows.
Epoch next_access(Thread& thread) {
  const Epoch end = {component_of(*thread.cta, thread.access_component), ++thread.accesses};
  thread.clock.raise(end.component, end.value);
  return end;
}

uint32_t unit_of(const Cta& cta, const void* pointer, const char* what, Line line, uint32_t bytes = 16) {
  const uint32_t address = window_address(cta, pointer, what, line);
  if (address % bytes != 0)
    fail(Finding::alignment,
         std::string(what) + " at " + place(line) + ": the address is not " + std::to_string(bytes) + "-byte aligned");
  return (address - kSharedStart) / 16;
}

}  // namespace

void shared_store(void* to, const void* value, Line line) {
  tick(costs::kRegister);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t unit = unit_of(cta, to, "shared_store", line);
  const Clock before = thread.clock;
  cta.shadow.generic_write(unit, cta.shadow.add(access(Access::By::store, thread, line, next_access(thread))), before);
  cta.shadow.set_origin(unit, {});
  thread.unfenced.push_back(unit);
  std::memcpy(to, value, 16);
  uint32_t first_word;
  std::memcpy(&first_word, value, sizeof first_word);
  if (first_word == kPoisonFloat) poisoned_accumulator(line);
}

void shared_load(const void* from, void* value, int bytes, Line line) {
  tick(costs::kRegister);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t unit = unit_of(cta, from, "shared_load", line, static_cast<uint32_t>(bytes));
  const Clock before = thread.clock;
  cta.shadow.ordinary_read(unit, cta.shadow.add(access(Access::By::load, thread, line, next_access(thread))), before);
  std::memcpy(value, from, static_cast<size_t>(bytes));
}

// Reads and writes the same 16 bytes: they stay what they were copied for.
void round_tf32(void* unit_pointer, Line line) {
  tick(costs::kRegister);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t unit = unit_of(cta, unit_pointer, "round_tf32", line);
  const Clock before = thread.clock;
  cta.shadow.ordinary_read(unit, cta.shadow.add(access(Access::By::load, thread, line, next_access(thread))), before);
  const Clock after = thread.clock;
  cta.shadow.generic_write(unit, cta.shadow.add(access(Access::By::store, thread, line, next_access(thread))), after);
  thread.unfenced.push_back(unit);
  float values[4];
  std::memcpy(values, unit_pointer, sizeof values);
  for (float& value : values) value = tf32_from_float(value);
  std::memcpy(unit_pointer, values, sizeof values);
}

void cluster_load(const void* local, uint32_t rank, void* value, Line line) {
  tick(costs::kIssue);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t unit = unit_of(cta, local, "cluster_load", line);
  if (rank >= cta.cluster->ctas.size())
    fail(Finding::out_of_bounds, "cluster_load at " + place(line) + " by " + who(thread) + ": rank " + std::to_string(rank) +
                                     " is not in the cluster");
  Cta& target = *cta.cluster->ctas[rank];
  if (target.exited)
    fail(Finding::exit, "cluster_load at " + place(line) + " by " + who(thread) + " reads from CTA " +
                            std::to_string(target.block) + ", which has exited");
  const Clock before = thread.clock;
  const Epoch end = next_access(thread);
  target.shadow.ordinary_read(unit, target.shadow.add(access(Access::By::load, thread, line, end)), before);
  if (&target != &cta) target.must_know("reads of its shared memory by another CTA", end, line);
  std::memcpy(value, target.shared + unit * 16, 16);
}

void check_cta_exit(const Cta& cta) {
  for (const Cta::Inbound& inbound : cta.inbound_accesses)
    if (!cta.exit_clock.knows(inbound.end))
      report(Finding::exit,
             "CTA " + std::to_string(cta.block) + " exits although none of its threads has waited for the " + inbound.what +
                 " at " + place(inbound.line) + name_of_epoch(inbound.end, cta.block),
             std::string("exit ") + inbound.what + place(inbound.line));
}

}  // namespace hopper_gemm::emulator
