// What the emulated instructions ask of the machine that runs them; csrc/emulator implements it.
// Non-template and free of host state, so that the headers beside it stay thin. Every call names the kernel's source
// line: a report says where a thread waits or what overwrote whose bytes.
#pragma once
#include <cstdint>
#include <source_location>

#include "hopper_gemm/arch/wait_point.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm::emulator {

using Line = std::source_location;

// What the running thread may read without a call. A plain global, not thread_local: fibers of one host thread share
// it, and every switch happens inside an opaque call, after which the compiler has to read it again.
struct ThreadView {
  uint32_t thread, block, grid, cluster_rank;
  unsigned char* shared;
};
extern const ThreadView* current_thread;

// --- thread.h
uint32_t shared_address(const void* pointer, Line line);
uint32_t warp_uniform(uint32_t value, Line line);
bool elect_one(Line line);
void increase_registers(int registers, Line line);
void decrease_registers(int registers, Line line);
void wait_for_previous_grid();
void allow_next_grid(Line line);
void annotate(arch::Activity activity, int tile);

// --- barrier.h; `state` is the barrier's 8 bytes in shared memory
void barrier_init(uint64_t& state, uint32_t arrivals, Line line);
void barrier_init_fence(Line line);
void barrier_arrive(uint64_t& state, Line line);
void barrier_arrive_cluster(uint64_t& state, uint32_t rank, Line line);
void barrier_arrive_expect(uint64_t& state, uint32_t bytes, Line line);
void barrier_wait(uint64_t& state, uint32_t parity, arch::WaitPoint point, Line line);
void cta_sync(Line line);
void named_barrier_sync(uint32_t id, uint32_t threads, Line line);
void async_proxy_fence(Line line);

// --- cluster.h
void cluster_arrive(Line line);
void cluster_wait(Line line);

// --- tma.h
constexpr uint32_t kNoMulticast = 0x10000;  // outside the 16-bit CTA masks
void tma_prefetch(const TensorMap& map, Line line);
void tma_load(void* destination, const TensorMap& map, uint64_t& barrier, int c0, int c1, int c2, uint32_t cta_mask,
              Line line);
void tma_store(const TensorMap& map, const void* source, int c0, int c1, int c2, Line line);
void tma_store_commit(Line line);
void tma_store_wait_read(int groups, Line line);

// --- copy.h
void leave_undefined(void* shared, int bytes, Line line);  // whole units of 16 bytes
void cp_async_16(void* destination, const void* source, uint32_t valid_bytes, Line line);
void cp_async_commit(Line line);
void cp_async_wait(int groups, Line line);
void round_tf32(void* unit, Line line);                                       // 16 bytes
void shared_store(void* to, const void* value, Line line);                    // 16 bytes
void shared_load(const void* from, void* value, int bytes, Line line);        // 16 or 2
void cluster_load(const void* local, uint32_t rank, void* value, Line line);  // 16 bytes
void stmatrix(void* row, const uint32_t* registers, int count, bool transposed, Line line);
void load_global(const void* address, void* value, int bytes, Line line);
void prefetch_to_l2(const void* address, Line line);
void store_global(void* address, const void* value, int bytes, Line line);
void poisoned_accumulator(Line line);  // an accumulator was used before the wait that covers it, or before it was written

// What an accumulator register holds before it is written, and between the issue of a wgmma and the wait that covers it:
// NaNs with a pattern.
constexpr uint32_t kPoisonFloat = 0xFFF0DEAD;
constexpr uint32_t kPoisonHalves = 0xFE5DFE5D;
constexpr uint32_t kPoisonInteger = 0x8055DEAD;  // -2,141,856,083: no sum of a test comes near
constexpr uint32_t poison_of(DataType accumulator) {
  return accumulator == DataType::f16 ? kPoisonHalves : accumulator == DataType::s32 ? kPoisonInteger : kPoisonFloat;
}

// --- wgmma.h
struct WgmmaCall {
  DataType a_type, b_type, accumulator;
  Major a_major, b_major;
  int n;
  uint64_t descriptor_a, descriptor_b;
  bool accumulate;
};
void wgmma(const WgmmaCall& call, void* registers, Line line);
void wgmma_fence(Line line);
void wgmma_commit(Line line);
void wgmma_wait(int groups, Line line);

}  // namespace hopper_gemm::emulator
