// The rules of the shared-memory shadow. Each sentence names both sides with their source lines.
#include "hazards.h"

#include <string>

#include "machine.h"

namespace hopper_gemm::emulator {

namespace {

std::string describe(const Access& access) {
  constexpr const char* kNames[] = {"nothing", "TMA load", "cp.async", "stmatrix", "wgmma", "TMA store", "store", "load"};
  if (access.by == Access::By::nothing) return kNames[0];
  return std::string(kNames[static_cast<int>(access.by)]) + " (CTA " + std::to_string(access.cta) + " warpgroup " +
         std::to_string(access.thread / kWarpgroupThreads) + " thread " + std::to_string(access.thread) + ", " +
         place(access.line) + ")";
}

}  // namespace

void SharedShadow::reset(uint32_t block, uint32_t bytes) {
  block_ = block;
  accesses_.assign(1, Access{});
  units_.assign((bytes + 15) / 16, Unit{});
  origins_.assign(units_.size(), Origin{});
}

uint32_t SharedShadow::add(const Access& access) {
  accesses_.push_back(access);
  return static_cast<uint32_t>(accesses_.size() - 1);
}

void SharedShadow::hazard(Finding kind, const char* rule, uint32_t unit, uint32_t now, uint32_t before) const {
  const Access &later = accesses_[now], &earlier = accesses_[before];
  // One broken rule shows at thousands of units: only the first is put into words.
  if (!machine->hazards.insert({rule, later.line.line(), earlier.line.line()}).second) return;
  const std::string text = std::string(rule) + ": " + describe(later) + " after " + describe(earlier) +
                           name_of_epoch(earlier.end, block_) + ", at shared byte " + std::to_string(unit * 16) +
                           " of CTA " + std::to_string(block_);
  report(kind, text, std::string(rule) + place(later.line) + place(earlier.line));
}

void SharedShadow::check_overwrite(uint32_t unit, uint32_t index, const Clock& clock) const {
  const Unit& u = units_[unit];
  if (u.writes != 0)
    return hazard(Finding::overwrite, "writes bytes that another operation in flight writes", unit, index, u.writer);
  for (const uint32_t reader : u.readers) {
    if (reader == 0 || clock.knows(accesses_[reader].end)) continue;
    if (u.reads != 0)
      return hazard(Finding::overwrite, "overwrites bytes that an operation in flight still reads", unit, index, reader);
    return hazard(Finding::overwrite, "overwrites bytes without having waited until they were read", unit, index, reader);
  }
  if (!clock.knows(accesses_[u.writer].end))
    hazard(Finding::overwrite, "overwrites bytes without having waited for their earlier write", unit, index, u.writer);
}

void SharedShadow::set_writer(Unit& unit, uint32_t index) {
  unit.writer = index;
  unit.readers = {};
}

void SharedShadow::begin_write(uint32_t unit, uint32_t count, uint32_t index, const Clock& clock) {
  const bool by_tma = accesses_[index].by == Access::By::tma_load;
  for (uint32_t i = unit; i < unit + count; ++i) {
    Unit& u = units_[i];
    check_overwrite(i, index, clock);
    if (u.unfenced && by_tma)
      hazard(Finding::proxy_fence, "missing async_proxy_fence between an ordinary write and an asynchronous one", i, index,
             u.writer);
    ++u.writes;
    u.unfenced = false;
    set_writer(u, index);
  }
}

void SharedShadow::end_write(uint32_t unit, uint32_t count) {
  for (uint32_t i = unit; i < unit + count; ++i) --units_[i].writes;
}

void SharedShadow::check_ordered_read(uint32_t unit, uint32_t writer, uint32_t index, const Clock& clock) const {
  if (!clock.knows(accesses_[writer].end))
    hazard(Finding::early_read, "reads bytes without having waited until they were written", unit, index, writer);
}

void SharedShadow::begin_read(uint32_t unit, uint32_t count, uint32_t index) {
  for (uint32_t i = unit; i < unit + count; ++i) {
    Unit& u = units_[i];
    if (u.writes != 0) hazard(Finding::early_read, "reads bytes still in flight", i, index, u.writer);
    if (u.unfenced)
      hazard(Finding::proxy_fence, "missing async_proxy_fence between an ordinary write and an asynchronous read", i, index,
             u.writer);
    if (u.writer == 0) hazard(Finding::unwritten_read, "reads shared memory that nothing has written", i, index, 0);
    ++u.reads;
    add_reader(u, index);
  }
}

void SharedShadow::add_reader(Unit& unit, uint32_t index) const {
  const uint32_t component = accesses_[index].end.component;
  int slot = kReaders - 1;  // a full list forgets the last one: more readers than warpgroups or CTAs do not occur
  for (int r = kReaders - 1; r >= 0; --r)
    if (unit.readers[r] == 0 || accesses_[unit.readers[r]].end.component == component) slot = r;
  unit.readers[slot] = index;
}

void SharedShadow::ordinary_read(uint32_t unit, uint32_t index, const Clock& clock) {
  Unit& u = units_[unit];
  if (u.writes != 0) hazard(Finding::early_read, "reads bytes still in flight", unit, index, u.writer);
  if (u.writer == 0) hazard(Finding::unwritten_read, "reads shared memory that nothing has written", unit, index, 0);
  check_ordered_read(unit, u.writer, index, clock);
  add_reader(u, index);
}

void SharedShadow::end_read(uint32_t unit, uint32_t count) {
  for (uint32_t i = unit; i < unit + count; ++i) --units_[i].reads;
}

void SharedShadow::generic_write(uint32_t unit, uint32_t index, const Clock& clock) {
  check_overwrite(unit, index, clock);
  set_writer(units_[unit], index);
  mark_unfenced(unit);
}

void SharedShadow::leave_undefined(uint32_t unit, uint32_t count, const Access& access, const Clock& clock) {
  const uint32_t index = add(access);  // which is over at once, for everyone
  for (uint32_t i = unit; i < unit + count; ++i) {
    check_overwrite(i, index, clock);
    set_writer(units_[i], index);
    origins_[i] = {};
  }
}

void SharedShadow::mark_unfenced(uint32_t unit) { units_[unit].unfenced = true; }

void SharedShadow::fence(uint32_t unit, uint16_t thread) {
  Unit& u = units_[unit];
  if (u.unfenced && accesses_[u.writer].thread == thread) u.unfenced = false;
}

}  // namespace hopper_gemm::emulator
