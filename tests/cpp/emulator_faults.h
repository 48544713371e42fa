// Seeded faults: each kernel breaks one rule, and the emulator must say so in words.
#pragma once
#include "emulator_copies.h"

namespace hopper_gemm::test {

// --- barriers
inline void deadlock_kernel(const GemmParams&) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 2);
  arch::annotate(arch::thread_index() < 128 ? arch::Activity::mainloop : arch::Activity::load, 7);
  if (arch::thread_index() == 0) arch::barrier_arrive_expect(shared.full, 4096);
  if (arch::thread_index() < 128) arch::barrier_wait(shared.full, 0, {arch::Wait::full, 2});
  if (arch::thread_index() == 130) arch::barrier_wait(shared.empty, 0, {arch::Wait::empty, 3});
}

// Announces `kAnnounced` bytes of a load of 2048, then waits for it.
template <int kAnnounced>
void tx_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 1);
  if (arch::thread_index() == 0) {
    arch::barrier_arrive_expect(shared.full, kAnnounced);
    arch::tma_load(shared.box, params.a_map, shared.full, 0, 0);
    arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
  }
  arch::cta_sync();
}

// A box that starts within 16 bytes of a row.
inline void misplaced_load_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 1);
  if (arch::thread_index() == 0) arch::tma_load(shared.box, params.a_map, shared.full, 4, 0);
}

// Announces the bytes of one of two loads: the phase completes without the other.
inline void late_bytes_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 1);
  if (arch::thread_index() != 0) return;
  arch::tma_load(shared.box, params.a_map, shared.full, 0, 0);
  arch::tma_load(shared.box + 2048, params.a_map, shared.full, 0, 0);
  arch::barrier_arrive_expect(shared.full, 2048);
  arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
  arch::barrier_arrive_expect(shared.full, 2048);
  arch::barrier_wait(shared.full, 1, {arch::Wait::full, 0});
}

inline void over_arrival_kernel(const GemmParams&) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 1);
  if (arch::thread_index() != 0) return;
  arch::barrier_arrive_expect(shared.full, 16);
  arch::barrier_arrive(shared.full);
}

// Thread 1 uses the barrier before anything made its initialisation visible.
inline void invisible_kernel(const GemmParams&) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  if (arch::thread_index() == 0) arch::barrier_init(shared.full, 1);
  arch::cta_sync();
  if (arch::thread_index() == 1) arch::barrier_arrive(shared.full);
}

inline void uninitialised_kernel(const GemmParams&) { arch::barrier_arrive(arch::dynamic_shared<CopyShared>().full); }

inline void named_mismatch_kernel(const GemmParams&) {
  arch::named_barrier_sync(1, arch::thread_index() < 32 ? 64 : 96);
  arch::cta_sync();
}

// --- register pool
inline void overdraw_kernel(const GemmParams&) {
  if (arch::thread_index() >= 256) {
    arch::decrease_registers<40>();
  } else {
    arch::increase_registers<240>();
  }
}
inline void pool_kernel(const GemmParams&) {
  if (arch::thread_index() >= 256) {
    arch::decrease_registers<40>();
  } else {
    arch::increase_registers<232>();
  }
}

// --- races
template <bool kFence>
void store_race_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  const uint32_t lane = arch::thread_index();
  for (int i = 0; i < 4; ++i) arch::stmatrix_x4(shared.box + (i * 32 + lane) * 16, 0, 0, 0, 0);
  if (kFence) arch::async_proxy_fence();
  arch::named_barrier_sync(1, 32);
  if (lane == 0) {
    arch::tma_store(params.out_map, shared.box, 0, 0);
    arch::tma_store_commit();
    if (!kFence) arch::tma_store_wait_read<0>();
  }
  if (kFence) {  // overwrites the buffer without waiting until it was read
    arch::stmatrix_x4(shared.box + lane * 16, 1, 1, 1, 1);
    if (lane == 0) arch::tma_store_wait_read<0>();
  }
}

inline void unread_store_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  const uint32_t lane = arch::thread_index();
  for (int i = 0; i < 4; ++i) arch::stmatrix_x4(shared.box + (i * 32 + lane) * 16, 0, 0, 0, 0);
  arch::async_proxy_fence();
  arch::named_barrier_sync(1, 32);
  if (lane == 0) {
    arch::tma_store(params.out_map, shared.box, 0, 0);
    arch::tma_store_commit();
  }
}

// --- what the epilogue reads: an addend of one element, which may be the output
enum class AddendFault { none, outside, prefetched_outside, late, by_another };

template <AddendFault kFault>
void addend_kernel(const GemmParams& params) {
  const float* addend = static_cast<const float*>(params.epilogue.addend[0].data);
  float* out = static_cast<float*>(params.out);
  const uint32_t thread = arch::thread_index();
  if (kFault == AddendFault::late && thread == 0) arch::store_global(out, 2.0f);
  if (thread == 0) arch::prefetch_to_l2(addend + (kFault == AddendFault::prefetched_outside ? 1 : 0));
  if (thread == 0) arch::load_global_if(addend + (kFault == AddendFault::outside ? 1 : 0), true);
  if (kFault == AddendFault::by_another) arch::cta_sync();
  if (kFault == AddendFault::none ? thread == 0 : kFault == AddendFault::by_another && thread == 128)
    arch::store_global(out, 2.0f);
}

template <AddendFault kFault>
EmulatorReport run_addend() {
  static float element = 1.0f;
  GemmParams params{};
  params.out = &element;
  params.out_type = DataType::f32;
  params.m = params.n = 1;
  params.out_pitch = 1;
  params.epilogue.plain = false;
  params.epilogue.addend[0].data = &element;
  return run_kernel(addend_kernel<kFault>, params, 1024, {.threads = 256});
}

struct MmaShared {
  alignas(1024) unsigned char a[64 * 128], b[64 * 128];
  arch::Barrier full;
};
enum class MmaFault { none, no_wait_full, no_mma_wait, no_fence, overwrite, outside, unwritten };

// One k64 block; then, if asked, the fault.
template <MmaFault kFault>
void mma_kernel(const GemmParams& params) {
  MmaShared& shared = arch::dynamic_shared<MmaShared>();
  const uint32_t thread = arch::thread_index();
  if (thread == 0) {
    arch::barrier_init(shared.full, 1);
    arch::barrier_init_fence();
    arch::barrier_arrive_expect(shared.full, 16384);
    arch::tma_load(shared.a, params.a_map, shared.full, 0, 0);
    arch::tma_load(shared.b, params.b_map, shared.full, 0, 0);
  }
  arch::cta_sync();
  if (kFault != MmaFault::no_wait_full) arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
  constexpr OperandTile tile = {Major::k, Swizzle::b128, 2, 64, 64};
  const uint32_t at = arch::shared_address(shared.a) + (kFault == MmaFault::outside ? 65536 : 0);
  float d[32] = {};
  if (kFault == MmaFault::unwritten) arch::unwritten_registers<DataType::f32>(d);
  if (kFault != MmaFault::no_fence) arch::wgmma_fence();
  arch::wgmma<DataType::bf16, DataType::bf16, DataType::f32, 64, Major::k, Major::k>(
      d, tile.descriptor() | descriptor_start(at), tile.descriptor() | descriptor_start(arch::shared_address(shared.b)),
      true);
  arch::wgmma_commit();
  if (kFault == MmaFault::no_mma_wait) arch::pack_bf16x2(d[0], d[1]);
  if (kFault == MmaFault::overwrite && thread == 0) {
    arch::barrier_arrive_expect(shared.full, 8192);
    arch::tma_load(shared.a, params.a_map, shared.full, 0, 0);
  }
  arch::wgmma_wait<0>();
  if (kFault == MmaFault::no_wait_full || kFault == MmaFault::overwrite)
    arch::barrier_wait(shared.full, kFault == MmaFault::overwrite, {arch::Wait::full, 0});
  arch::cta_sync();
}

template <MmaFault kFault>
EmulatorReport run_mma(uint64_t seed = 0) {
  static std::vector<uint16_t> data(64 * 64, 0x3F80);
  GemmParams params{};
  params.a_map = params.b_map =
      emulator::encode_tensor_map({data.data(), DataType::bf16, {64, 64}, 128, {64, 64}, Swizzle::b128});
  return run_kernel(mma_kernel<kFault>, params, sizeof(MmaShared), {.seed = seed, .threads = 128});
}

// Rank 0 signals rank 1 and nothing keeps rank 1 from leaving first.
inline void early_exit_kernel(const GemmParams&) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 32);
  if (arch::cluster_rank() == 0) arch::barrier_arrive_cluster(shared.empty, 1);
}

// Some faults show only in some interleavings: the first finding of 20 seeds.
template <class Run>
EmulatorReport first_finding(Run run) {
  EmulatorReport report;
  for (uint64_t seed = 0; seed < 20 && report.findings.empty(); ++seed) report = run(seed);
  return report;
}

inline void test_faults() {
  std::vector<uint16_t> data(64 * 64);
  GemmParams params{};
  params.a_map = params.out_map = copy_map(data.data(), 64, 64, 64);

  const EmulatorReport deadlock = run_kernel(deadlock_kernel, {}, sizeof(CopyShared), {.threads = 256});
  CHECK(found(deadlock, {"deadlock",
                         "CTA 0 warpgroup 0 (consumer 0) warps 0-3 all lanes waits on full[2] for parity 0 (phase 0, 0 of 1 "
                         "arrivals pending, 4096 tx bytes outstanding) at emulator_faults.h:"}));
  CHECK(found(deadlock, {"CTA 0 warpgroup 1 (producer) warp 4 lane 2 waits on empty[3] for parity 0",
                         "2 of 2 arrivals pending", "last activity: load, tile 7"}));

  CHECK(clean(run_kernel(tx_kernel<2048>, params, sizeof(CopyShared))));
  CHECK(found(run_kernel(tx_kernel<4096>, params, sizeof(CopyShared)), {"deadlock", "2048 tx bytes outstanding"}));
  CHECK(found(run_kernel(tx_kernel<1024>, params, sizeof(CopyShared)),
              {"1024 more bytes arrived than barrier_arrive_expect announced"}));
  CHECK(found(run_kernel(misplaced_load_kernel, params, sizeof(CopyShared)),
              {"illegal instruction", "whole 16 bytes of a row"}));
  GemmParams before = params;  // store_kernel stores at (m, n)
  before.m = -4;
  CHECK(found(run_kernel(store_kernel, before, sizeof(CopyShared)),
              {"illegal instruction", "a store does not start before the tensor"}));
  const auto late = [&](uint64_t seed) { return run_kernel(late_bytes_kernel, params, sizeof(CopyShared), {.seed = seed}); };
  CHECK(found(first_finding(late), {"too few bytes were announced"}));
  CHECK(found(run_kernel(over_arrival_kernel, {}, sizeof(CopyShared)), {"over-arrival"}));
  CHECK(found(run_kernel(invisible_kernel, {}, sizeof(CopyShared)),
              {"before its initialisation is visible", "no barrier_init_fence"}));
  CHECK(found(run_kernel(uninitialised_kernel, {}, sizeof(CopyShared)), {"holds no initialised barrier"}));
  CHECK(found(run_kernel(named_mismatch_kernel, {}, 1024, {.threads = 96}), {"named barrier 1", "expects"}));

  CHECK(clean(run_kernel(pool_kernel, {}, 1024, {.threads = 384})));
  CHECK(found(run_kernel(overdraw_kernel, {}, 1024, {.threads = 384}),
              {"increase_registers for 72 registers more", "at most 504"}));

  CHECK(found(run_kernel(store_race_kernel<false>, params, sizeof(CopyShared)),
              {"missing async_proxy_fence", "TMA store", "stmatrix", "emulator_faults.h:"}));
  CHECK(found(run_kernel(store_race_kernel<true>, params, sizeof(CopyShared)),
              {"overwrites bytes", "stmatrix", "after TMA store"}));
  CHECK(found(run_kernel(unread_store_kernel, params, sizeof(CopyShared)), {"exits without tma_store_wait_read"}));

  CHECK(clean(run_addend<AddendFault::none>()));
  CHECK(found(run_addend<AddendFault::outside>(), {"out-of-bounds", "load_global", "outside the tensors of the epilogue"}));
  CHECK(found(run_addend<AddendFault::prefetched_outside>(),
              {"out-of-bounds", "prefetch_to_l2", "outside the tensors of the epilogue"}));
  CHECK(
      found(run_addend<AddendFault::late>(), {"early-read", "reads an element of the output after", "emulator_faults.h:"}));
  CHECK(found(run_addend<AddendFault::by_another>(), {"overwrite", "nothing orders the two", "warpgroup 0"}));

  CHECK(clean(run_mma<MmaFault::none>()));
  CHECK(found(first_finding(run_mma<MmaFault::no_wait_full>), {"early-read: reads bytes", "wgmma", "after TMA load"}));
  CHECK(found(run_mma<MmaFault::no_mma_wait>(), {"accumulator read before the wgmma_wait"}));
  CHECK(found(run_mma<MmaFault::unwritten>(), {"adds to accumulators that nothing has written"}));
  CHECK(found(run_mma<MmaFault::no_fence>(), {"missing wgmma_fence"}));
  CHECK(found(run_mma<MmaFault::overwrite>(),
              {"overwrites bytes that an operation in flight still reads", "TMA load", "after wgmma"}));
  CHECK(found(run_mma<MmaFault::outside>(), {"descriptor of A reads", "outside the CTA's"}));

  int early = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const EmulatorReport report =
        run_kernel(early_exit_kernel, {}, sizeof(CopyShared), {.seed = seed, .grid = 2, .cluster = 2});
    for (const std::string& finding : report.findings)
      early += contains(finding, "exits while") || contains(finding, "has exited");
  }
  CHECK(early > 5);
}

// Equal seeds give equal runs; different seeds do not.
inline void test_replay() {
  std::vector<uint16_t> data(64 * kColumns);
  GemmParams params{};
  params.a_map =
      emulator::encode_tensor_map({data.data(), DataType::bf16, {kColumns, 64}, kColumns * 2, {kColumns, 8}, Swizzle::b128});
  const auto steps = [&](uint64_t seed) {
    return run_kernel(multicast_kernel, params, sizeof(CopyShared), {.seed = seed, .grid = 8, .cluster = 2}).steps;
  };
  CHECK(steps(5) == steps(5));
  CHECK(steps(5) != steps(6) || steps(6) != steps(7));
}

template <class Change>
bool map_rejected(Change change, const char* rule) {
  static std::vector<uint16_t> data(64 * 64 + 8);
  void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(data.data()) + 15) & ~uintptr_t{15});
  emulator::TensorMapSpec spec{aligned, DataType::bf16, {64, 64}, 128, {64, 16}, Swizzle::b128};
  change(spec);
  try {
    emulator::encode_tensor_map(spec);
  } catch (const Error& error) {
    return contains(error.what(), rule);
  }
  return false;
}

inline void test_map_rules() {
  using Spec = emulator::TensorMapSpec;
  CHECK(map_rejected([](Spec& s) { s.address = static_cast<char*>(s.address) + 2; }, "address"));
  CHECK(map_rejected([](Spec& s) { s.pitch_bytes = 130; }, "multiple of 16"));
  CHECK(map_rejected([](Spec& s) { s.box[1] = 257; }, "1 to 256"));
  CHECK(map_rejected([](Spec& s) { s.box[0] = 72; }, "swizzle span of 128"));
  CHECK(map_rejected([](Spec& s) { s.box[0] = 4; }, "16 bytes"));
  CHECK(map_rejected([](Spec& s) { s.extent[0] = 0; }, "extent"));
}

}  // namespace hopper_gemm::test
