// Emulated counterpart of arch/ptx/wgmma.h: warpgroup matrix multiply on shared-memory operands named by descriptors.
// An accumulator holds poison from the issue of a wgmma to the wgmma_wait that covers it.
#pragma once
#include <bit>

#include "hopper_gemm/arch/emu/thread.h"
#include "hopper_gemm/core/config.h"

namespace hopper_gemm::arch {

// Before the first wgmma, and whenever accumulators were touched by other instructions.
HG_DEVICE void wgmma_fence(emulator::Line line = emulator::Line::current()) { emulator::wgmma_fence(line); }
HG_DEVICE void wgmma_commit(emulator::Line line = emulator::Line::current()) { emulator::wgmma_commit(line); }
// Waits until at most kGroups committed groups are unfinished.
template <int kGroups>
HG_DEVICE void wgmma_wait(emulator::Line line = emulator::Line::current()) {
  emulator::wgmma_wait(kGroups, line);
}

// Accumulators that nothing has written yet hold poison: adding to them or storing them is reported.
template <DataType kAccumulator, class T, int kCount>
HG_DEVICE void unwritten_registers(T (&d)[kCount]) {
  for (T& each : d) each = std::bit_cast<T>(emulator::poison_of(kAccumulator));
}

// Keeps the GPU's compiler from moving accumulator accesses; opaque calls do that here.
template <int kCount>
HG_DEVICE void register_fence(float (&)[kCount]) {}
template <int kCount>
HG_DEVICE void register_fence(uint32_t (&)[kCount]) {}

// D (64 x kN) = A (64 x 32 bytes) * B (32 bytes x kN) + (accumulate ? D : 0). All four warps, converged.
template <DataType kTypeA, DataType kTypeB, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, class T, int kCount>
HG_DEVICE void wgmma(T (&d)[kCount], uint64_t descriptor_a, uint64_t descriptor_b, bool accumulate,
                     emulator::Line line = emulator::Line::current()) {
  static_assert(valid_types(kTypeA, kTypeB, kAccumulator) && valid_tile_n(kAccumulator, kN));
  static_assert(element_bytes(kTypeA) == 2 || (kMajorA == Major::k && kMajorB == Major::k));
  static_assert(kCount == accumulator_registers(kAccumulator, kN));
  static_assert(sizeof(T) == 4);
  emulator::wgmma({kTypeA, kTypeB, kAccumulator, kMajorA, kMajorB, kN, descriptor_a, descriptor_b, accumulate}, d, line);
}

}  // namespace hopper_gemm::arch
