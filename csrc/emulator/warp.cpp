// Operations of a whole warp or warpgroup: shuffles, elect, stmatrix, setmaxnreg. The lanes gather: none goes on before
// all have come, as the .sync.aligned forms demand.
#include <algorithm>
#include <array>
#include <cstring>

#include "costs.h"
#include "machine.h"

namespace hopper_gemm::emulator {

bool gather_warp(const char* operation, Line line) {
  Thread& thread = self();
  Warp& warp = *thread.warp;
  if (warp.arrived == 0) {
    warp.operation = operation;
    warp.line = line;
  } else if (std::strcmp(warp.operation, operation) != 0 || warp.line.line() != line.line()) {
    report(Finding::diverged,
           "diverged warp: " + who(thread) + " executes " + operation + " at " + place(line) +
               " while other lanes execute " + warp.operation + " at " + place(warp.line),
           "diverged" + place(line));
  }
  // A gathered warp also counts as having synchronised its lanes' memory accesses, as __syncwarp does.
  warp.arriving.join(thread.clock);
  if (++warp.arrived == 32) return true;
  const uint64_t operations = warp.operations;
  while (warp.operations == operations) {
    warp.waiters.push_back(&thread);
    block_on({Waiting::On::warp, nullptr, 0, {}, 0, line});
  }
  thread.clock.join(warp.gathered);
  return false;
}

void release_warp() {
  Warp& warp = *self().warp;
  warp.arrived = 0;
  ++warp.operations;
  warp.gathered = warp.arriving;
  if (warp.component != kNoComponent) warp.gathered.raise(warp.component, static_cast<uint32_t>(warp.operations));
  warp.arriving.clear();
  self().clock.join(warp.gathered);
  wake(warp.waiters);
}

uint32_t warp_uniform(uint32_t value, Line line) {
  tick(costs::kRegister);
  Warp& warp = *self().warp;
  if (self().lane == 0) warp.lane_0_value = value;
  if (gather_warp("warp_uniform", line)) {
    warp.value = warp.lane_0_value;  // a copy: lane 0 may come to the next one before every lane has read this one
    release_warp();
  }
  return warp.value;
}

bool elect_one(Line line) {
  tick(costs::kRegister);
  Warp& warp = *self().warp;
  if (gather_warp("elect_one", line)) {
    warp.value = machine->scheduler.random().below(32);
    release_warp();
  }
  return static_cast<uint32_t>(self().lane) == warp.value;
}

namespace {

// Each 8x8 matrix is written in one cycle if its 8 rows of 16 bytes lie in 8 different groups of four banks.
void count_bank_conflicts(const Warp& warp, int count, Line line) {
  constexpr int kTooMany = 4;  // two-way is common and cheap
  for (int matrix = 0; matrix < count; ++matrix) {
    std::array<int, 8> rows{};
    for (int i = 0; i < 8; ++i) ++rows[warp.matrix_rows[8 * matrix + i] / 16 % 8];
    const int cycles = *std::max_element(rows.begin(), rows.end());
    machine->stmatrix_rows += 8;
    machine->stmatrix_cycles += cycles;
    if (cycles >= kTooMany)
      report(Finding::bank_conflict,
             "stmatrix at " + place(line) + " by " + who(self()) + ": " + std::to_string(cycles) +
                 " of the 8 rows of a matrix share four banks, so it takes " + std::to_string(cycles) +
                 " cycles instead of 1",
             "banks" + place(line));
  }
}

}  // namespace

void stmatrix(void* row, const uint32_t* registers, int count, bool transposed, Line line) {
  tick(costs::kStmatrix);
  Thread& thread = self();
  Warp& warp = *thread.warp;
  Cta& cta = *thread.cta;
  if (thread.lane < 8 * count) {
    const uint32_t address = window_address(cta, row, "stmatrix", line);
    if (address % 16 != 0)
      fail(Finding::alignment, "stmatrix at " + place(line) + " by " + who(thread) + ": the row is not 16-byte aligned");
    warp.matrix_rows[thread.lane] = address;
  }
  std::memcpy(warp.matrix_registers[thread.lane].data(), registers, sizeof(uint32_t) * count);
  if (!gather_warp(count == 4 ? "stmatrix_x4" : "stmatrix_x2", line)) return;
  count_bank_conflicts(warp, count, line);
  const Epoch end = {component_of(cta, warp.component), static_cast<uint32_t>(warp.operations + 1)};
  // Element (r, c) of matrix m: half c % 2 of register m of lane 4r + c / 2 (PTX ISA, stmatrix fragment layout).
  const auto element = [&](int row, int column, int matrix) {
    return static_cast<uint16_t>(warp.matrix_registers[4 * row + column / 2][matrix] >> column % 2 * 16);
  };
  for (int i = 0; i < 8 * count; ++i) {
    const uint32_t address = warp.matrix_rows[i];
    Thread& writer = cta.threads[warp.index * 32 + i];
    const uint32_t unit = (address - kSharedStart) / 16;
    cta.shadow.generic_write(unit, cta.shadow.add(access(Access::By::stmatrix, writer, line, end)), writer.clock);
    cta.shadow.set_origin(unit, {});
    writer.unfenced.push_back(unit);
    uint16_t stored[8];
    for (int j = 0; j < 8; ++j) stored[j] = transposed ? element(j, i % 8, i / 8) : element(i % 8, j, i / 8);
    std::memcpy(shared_bytes_at(cta, address), stored, sizeof stored);
  }
  release_warp();
}

namespace {

// The warpgroup's threads gather; the last one moves the registers. An increase waits until the pool has them.
void change_registers(int registers, bool increase, Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  Warpgroup& warpgroup = *thread.warpgroup;
  const char* name = increase ? "increase_registers" : "decrease_registers";
  if (registers % 8 != 0 || registers < 24 || registers > 256)
    fail(Finding::registers,
         std::string(name) + " at " + place(line) + ": " + std::to_string(registers) + " is not a multiple of 8 in 24..256");
  if (++warpgroup.changing < kWarpgroupThreads) {
    const uint64_t changes = warpgroup.changes;
    while (warpgroup.changes == changes) {
      warpgroup.waiters.push_back(&thread);
      block_on({Waiting::On::warpgroup, nullptr, 0, {}, registers, line});
    }
    return;
  }
  const int more = registers - warpgroup.registers;
  if (increase ? more < 0 : more > 0)
    report(Finding::registers,
           std::string(name) + " at " + place(line) + " by " + who(thread) + ": the warpgroup has " +
               std::to_string(warpgroup.registers) + " registers a thread and asks for " + std::to_string(registers),
           "registers" + place(line));
  while (more > cta.free_registers) {
    cta.register_waiters.push_back(&thread);
    block_on({Waiting::On::registers, nullptr, 0, {}, more, line});
  }
  cta.free_registers -= more;
  warpgroup.registers = registers;
  warpgroup.changing = 0;
  ++warpgroup.changes;
  wake(cta.register_waiters);
  wake(warpgroup.waiters);
}

}  // namespace

void increase_registers(int registers, Line line) { change_registers(registers, true, line); }
void decrease_registers(int registers, Line line) { change_registers(registers, false, line); }

}  // namespace hopper_gemm::emulator
