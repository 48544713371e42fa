// The rules of the shared-memory shadow. Each sentence names both sides with their source lines.
#include "hazards.h"

#include <string>

#include "machine.h"

namespace hopper_gemm::emulator {

namespace {

std::string describe(const Access& access) {
  constexpr const char* kNames[] = {"nothing", "TMA load", "cp.async", "stmatrix", "wgmma", "TMA store"};
  return std::string(kNames[static_cast<int>(access.by)]) + " (CTA " + std::to_string(access.cta) + " warpgroup " +
         std::to_string(access.thread / kWarpgroupThreads) + " thread " + std::to_string(access.thread) + ", " +
         place(access.line) + ")";
}

}  // namespace

void SharedShadow::reset(uint32_t block, uint32_t bytes) {
  block_ = block;
  units_.assign((bytes + 15) / 16, Unit{});
}

void SharedShadow::hazard(const char* rule, uint32_t unit, const Access& now, const Access& before) const {
  const std::string text = std::string(rule) + ": " + describe(now) + " after " + describe(before) +
                           ", at shared byte " + std::to_string(unit * 16) + " of CTA " + std::to_string(block_);
  report(text, std::string(rule) + place(now.line) + place(before.line));
}

void SharedShadow::begin_write(uint32_t unit, uint32_t count, const Access& access) {
  for (uint32_t i = unit; i < unit + count; ++i) {
    Unit& u = units_[i];
    if (u.reads != 0) hazard("overwrites bytes that an operation in flight still reads", i, access, u.reader);
    if (u.writes != 0) hazard("writes bytes that another operation in flight writes", i, access, u.writer);
    if (u.unfenced && access.by == Access::By::tma_load)
      hazard("missing async_proxy_fence between an ordinary write and an asynchronous one", i, access, u.writer);
    ++u.writes;
    u.unfenced = false;
    u.written = true;
    u.writer = access;
  }
}

void SharedShadow::end_write(uint32_t unit, uint32_t count) {
  for (uint32_t i = unit; i < unit + count; ++i) --units_[i].writes;
}

void SharedShadow::begin_read(uint32_t unit, uint32_t count, const Access& access) {
  for (uint32_t i = unit; i < unit + count; ++i) {
    Unit& u = units_[i];
    if (u.writes != 0) hazard("reads bytes still in flight", i, access, u.writer);
    if (u.unfenced)
      hazard("missing async_proxy_fence between an ordinary write and an asynchronous read", i, access, u.writer);
    if (!u.written) hazard("reads shared memory that nothing has written", i, access, u.writer);
    ++u.reads;
    u.reader = access;
  }
}

void SharedShadow::end_read(uint32_t unit, uint32_t count) {
  for (uint32_t i = unit; i < unit + count; ++i) --units_[i].reads;
}

void SharedShadow::generic_write(uint32_t unit, const Access& access) {
  Unit& u = units_[unit];
  if (u.reads != 0) hazard("overwrites bytes that an operation in flight still reads", unit, access, u.reader);
  if (u.writes != 0) hazard("writes bytes that another operation in flight writes", unit, access, u.writer);
  mark_unfenced(unit, access);
}

void SharedShadow::mark_unfenced(uint32_t unit, const Access& access) {
  Unit& u = units_[unit];
  u.unfenced = u.written = true;
  u.writer = access;
}

void SharedShadow::fence(uint32_t unit, uint16_t thread) {
  Unit& u = units_[unit];
  if (u.unfenced && u.writer.thread == thread) u.unfenced = false;
}

}  // namespace hopper_gemm::emulator
