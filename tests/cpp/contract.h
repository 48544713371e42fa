// The contract of the instruction layer: a kernel that calls every function of arch/ once. contract_ptx.cu compiles it
// with nvcc, contract_emu.cpp with g++, so that the two back ends cannot drift apart. It is compiled, never run.
#pragma once
#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm::contract {

struct Plan {
  unsigned char data[16384];
  arch::Barrier barrier;
};

template <DataType kInput, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, class T, int kCount>
HG_DEVICE void multiply(T (&d)[kCount], uint64_t a, uint64_t b) {
  arch::register_fence(d);
  arch::wgmma_fence();
  arch::wgmma<kInput, kAccumulator, kN, kMajorA, kMajorB>(d, a, b, false);
  arch::wgmma_commit();
  arch::wgmma_wait<1>();
  arch::wgmma_wait<0>();
  arch::register_fence(d);
}

template <int kThreads>
HG_KERNEL(kThreads) every_instruction(HG_PARAM(GemmParams) params) {
  using namespace arch;
  Plan& plan = dynamic_shared<Plan>();
  const uint32_t thread = thread_index();
  const uint32_t warp = warp_uniform(thread / 32);
  const bool elected = elect_one();
  annotate(Activity::load, static_cast<int>(block_index() + grid_size()));

  if (warp == 0 && elected) {
    barrier_init(plan.barrier, 1);
    barrier_init_fence();
    tma_prefetch(params.a_map);
  }
  cta_sync();
  cluster_arrive();
  cluster_wait();
  if (warp == 0 && elected) {
    barrier_arrive_expect(plan.barrier, 8192);
    tma_load(plan.data, params.a_map, plan.barrier, 0, 0);
    tma_load_multicast(plan.data, params.b_map, plan.barrier, 0, 0, static_cast<uint16_t>(1u << cluster_rank()));
    barrier_arrive(plan.barrier);
    barrier_arrive_cluster(plan.barrier, cluster_rank());
  }
  barrier_wait(plan.barrier, 0, WaitPoint{Wait::full, 0});
  named_barrier_sync(1, kThreads);

  cp_async_16(plan.data + 16 * thread, params.a, 16);
  cp_async_commit();
  cp_async_wait<0>();
  async_proxy_fence();

  decrease_registers<40>();
  increase_registers<232>();

  const uint64_t descriptor = shared_address(plan.data) >> 4;
  float f32[32];
  uint32_t f16[16];
  multiply<DataType::bf16, DataType::f32, 64, Major::k, Major::k>(f32, descriptor, descriptor);
  multiply<DataType::f16, DataType::f32, 64, Major::mn, Major::k>(f32, descriptor, descriptor);
  multiply<DataType::f16, DataType::f16, 64, Major::k, Major::mn>(f16, descriptor, descriptor);

  uint32_t packed[4] = {};
  HG_UNROLL for (int i = 0; i < 2; ++i) packed[i] = pack_bf16x2(f32[2 * i], f32[2 * i + 1]);
  HG_NO_UNROLL for (int i = 0; i < 2; ++i) packed[2 + i] = pack_f16x2(f16_low(f16[0]), f16_high(f16[0]));
  stmatrix_x4(plan.data + 16 * thread, packed[0], packed[1], packed[2], packed[3]);
  stmatrix_x2(plan.data + 16 * thread, packed[0], packed[1]);
  stmatrix_x4_transposed(plan.data + 16 * thread, packed[0], packed[1], packed[2], packed[3]);
  stmatrix_x2_transposed(plan.data + 16 * thread, packed[0], packed[1]);
  Float4& slot = *reinterpret_cast<Float4*>(plan.data + 16 * thread);
  shared_store(slot, cluster_load(slot, 0));
  Piece& piece = *reinterpret_cast<Piece*>(plan.data + 16 * thread);
  shared_store(piece, load_global(static_cast<const Piece*>(params.b) + thread));
  store_global(static_cast<Piece*>(params.out) + thread, shared_load(piece));
  wait_for_previous_grid();
  allow_next_grid();
  if (elected) {
    tma_store(params.out_map, plan.data, 0, 0);
    tma_store_commit();
    tma_store_wait_read<0>();
  }
  store_global(static_cast<uint32_t*>(params.out) + thread, packed[0]);
}

}  // namespace hopper_gemm::contract
