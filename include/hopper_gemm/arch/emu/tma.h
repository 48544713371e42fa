// Emulated counterpart of arch/ptx/tma.h: bulk tensor copies. Maps are 3-D, with one matrix of a batch in each box; coordinates in
// elements, innermost first, then the matrix.
#pragma once
#include "hopper_gemm/arch/emu/barrier.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm::arch {

// What L2 keeps changes no value.
struct CachePolicy {};
HG_DEVICE CachePolicy cache_policy(bool /*evict_first*/) { return {}; }

HG_DEVICE void tma_prefetch(const TensorMap& map, emulator::Line line = emulator::Line::current()) {
  emulator::tma_prefetch(map, line);
}

// Loads one box to `destination`; elements outside the tensor become zero. Completes the box's full bytes on `barrier`.
HG_DEVICE void tma_load(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1, int c2 = 0,
                        emulator::Line line = emulator::Line::current()) {
  emulator::tma_load(destination, map, barrier.state, c0, c1, c2, emulator::kNoMulticast, line);
}

HG_DEVICE void tma_load(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1, int c2, CachePolicy,
                        emulator::Line line = emulator::Line::current()) {
  tma_load(destination, map, barrier, c0, c1, c2, line);
}

// The same into every CTA of `cta_mask`, at the same shared-memory offsets of data and barrier.
HG_DEVICE void tma_load_multicast(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1,
                                  uint16_t cta_mask, int c2 = 0, emulator::Line line = emulator::Line::current()) {
  emulator::tma_load(destination, map, barrier.state, c0, c1, c2, cta_mask, line);
}

HG_DEVICE void tma_load_multicast(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1,
                                  uint16_t cta_mask, int c2, CachePolicy, emulator::Line line = emulator::Line::current()) {
  tma_load_multicast(destination, map, barrier, c0, c1, cta_mask, c2, line);
}

// Stores one box from `source`; elements outside the tensor are dropped. Groups belong to the issuing thread.
HG_DEVICE void tma_store(const TensorMap& map, const void* source, int c0, int c1, int c2 = 0,
                         emulator::Line line = emulator::Line::current()) {
  emulator::tma_store(map, source, c0, c1, c2, line);
}
HG_DEVICE void tma_store_commit(emulator::Line line = emulator::Line::current()) { emulator::tma_store_commit(line); }

// Waits until at most kGroups of this thread's groups still have to read shared memory.
template <int kGroups>
HG_DEVICE void tma_store_wait_read(emulator::Line line = emulator::Line::current()) {
  emulator::tma_store_wait_read(kGroups, line);
}

}  // namespace hopper_gemm::arch
