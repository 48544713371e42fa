// Emulated counterpart of arch/ptx/thread.h: thread identity, warp-uniform values and the register pool.
#pragma once
#include <cstdint>

#include "hopper_gemm/arch/emu/machine.h"
#include "hopper_gemm/arch/wait_point.h"

#define HG_DEVICE inline
#define HG_KERNEL(...) void
#define HG_KERNEL_RESIDENT(...) void
// By reference: a TMA queued by a thread may run after that thread has returned, when its own copy would be gone.
#define HG_PARAM(T) const T&
#define HG_UNROLL
#define HG_UNROLL_4
#define HG_NO_UNROLL

namespace hopper_gemm::arch {

HG_DEVICE uint32_t thread_index() { return emulator::current_thread->thread; }
HG_DEVICE uint32_t block_index() { return emulator::current_thread->block; }
HG_DEVICE uint32_t grid_size() { return emulator::current_thread->grid; }

// The dynamic shared memory of this CTA, aligned to the 1024-byte period of the 128-byte swizzle.
template <class T>
HG_DEVICE T& dynamic_shared() {
  return *reinterpret_cast<T*>(emulator::current_thread->shared);
}

HG_DEVICE uint32_t shared_address(const void* pointer, emulator::Line line = emulator::Line::current()) {
  return emulator::shared_address(pointer, line);
}

// The value of lane 0.
HG_DEVICE uint32_t warp_uniform(uint32_t value, emulator::Line line = emulator::Line::current()) {
  return emulator::warp_uniform(value, line);
}

// The same value, of which the compiler knows nothing: what depends on it is not computed earlier than here.
HG_DEVICE uint32_t opaque(uint32_t value) { return value; }

// In a branch: it stays one. Otherwise a short side is computed for both outcomes, and chosen from.
HG_DEVICE void stay_branch() {}

// True in exactly one lane of a converged warp: a random one, so that code cannot come to rely on lane 0.
HG_DEVICE bool elect_one(emulator::Line line = emulator::Line::current()) { return emulator::elect_one(line); }

// setmaxnreg: executed by all warps of a warpgroup; increase blocks until the pool has the registers.
template <int kRegisters>
HG_DEVICE void increase_registers(emulator::Line line = emulator::Line::current()) {
  emulator::increase_registers(kRegisters, line);
}
template <int kRegisters>
HG_DEVICE void decrease_registers(emulator::Line line = emulator::Line::current()) {
  emulator::decrease_registers(kRegisters, line);
}

// Programmatic dependent launch: the emulator runs one grid at a time, but notes that the thread has waited.
HG_DEVICE void wait_for_previous_grid() { emulator::wait_for_previous_grid(); }
HG_DEVICE void allow_next_grid(emulator::Line line = emulator::Line::current()) { emulator::allow_next_grid(line); }

HG_DEVICE void annotate(Activity activity, int tile) { emulator::annotate(activity, tile); }

}  // namespace hopper_gemm::arch
