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

template <DataType kTypeA, DataType kTypeB, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, class T, int kCount>
HG_DEVICE void multiply(T (&d)[kCount], uint64_t a, uint64_t b) {
  arch::unwritten_registers<kAccumulator>(d);
  arch::register_fence(d);
  arch::wgmma_fence();
  arch::wgmma<kTypeA, kTypeB, kAccumulator, kN, kMajorA, kMajorB>(d, a, b, false);
  arch::wgmma_commit();
  arch::wgmma_wait<1>();
  arch::wgmma_wait<0>();
  arch::register_fence(d);
}

template <int kThreads>
HG_KERNEL(kThreads)
every_instruction(HG_PARAM(GemmParams) params) {
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
    leave_undefined(plan.data, 16);
  }
  cta_sync();
  cluster_arrive();
  cluster_wait();
  if (warp == 0 && elected) {
    barrier_arrive_expect(plan.barrier, 8192);
    tma_load(plan.data, params.a_map, plan.barrier, 0, 0);
    tma_load_multicast(plan.data, params.b_map, plan.barrier, 0, 0, static_cast<uint16_t>(1u << cluster_rank()));
    tma_load(plan.data, params.a_map, plan.barrier, 0, 0, 0, cache_policy(true));
    tma_load_multicast(plan.data, params.b_map, plan.barrier, 0, 0, static_cast<uint16_t>(1u << cluster_rank()), 0,
                       cache_policy(false));
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
  float floats[32];
  uint32_t halves[16];
  uint32_t integers[32];
  using enum DataType;
  multiply<DataType::bf16, DataType::bf16, DataType::f32, 64, Major::k, Major::k>(floats, descriptor, descriptor);
  multiply<DataType::f16, DataType::f16, DataType::f32, 64, Major::mn, Major::k>(floats, descriptor, descriptor);
  multiply<DataType::f16, DataType::f16, DataType::f16, 64, Major::k, Major::mn>(halves, descriptor, descriptor);
  multiply<tf32, tf32, DataType::f32, 64, Major::k, Major::k>(floats, descriptor, descriptor);
  multiply<e4m3, e4m3, DataType::f32, 64, Major::k, Major::k>(floats, descriptor, descriptor);
  multiply<e4m3, e5m2, DataType::f32, 64, Major::k, Major::k>(floats, descriptor, descriptor);
  multiply<e5m2, e4m3, DataType::f32, 64, Major::k, Major::k>(floats, descriptor, descriptor);
  multiply<e5m2, e5m2, DataType::f32, 64, Major::k, Major::k>(floats, descriptor, descriptor);
  multiply<s8, s8, DataType::s32, 64, Major::k, Major::k>(integers, descriptor, descriptor);
  multiply<s8, u8, DataType::s32, 64, Major::k, Major::k>(integers, descriptor, descriptor);
  multiply<u8, s8, DataType::s32, 64, Major::k, Major::k>(integers, descriptor, descriptor);
  multiply<u8, u8, DataType::s32, 64, Major::k, Major::k>(integers, descriptor, descriptor);

  uint32_t packed[4] = {};
  HG_UNROLL for (int i = 0; i < 2; ++i)
    packed[i] = pack_bf16x2(floats[2 * i], floats[2 * i + 1]);
  HG_NO_UNROLL for (int i = 0; i < 2; ++i)
    packed[2 + i] = pack_f16x2(f16_low(halves[0]), f16_high(halves[0]));
  stmatrix_x4(plan.data + 16 * thread, packed[0], packed[1], packed[2], packed[3]);
  stmatrix_x2(plan.data + 16 * thread, packed[0], packed[1]);
  stmatrix_x4_transposed(plan.data + 16 * thread, packed[0], packed[1], packed[2], packed[3]);
  stmatrix_x2_transposed(plan.data + 16 * thread, packed[0], packed[1]);
  Float4& slot = *reinterpret_cast<Float4*>(plan.data + 16 * thread);
  shared_store(slot, cluster_load(slot, 0));
  Piece& piece = *reinterpret_cast<Piece*>(plan.data + 16 * thread);
  shared_store(piece, load_global(static_cast<const Piece*>(params.b) + thread));
  store_global(static_cast<Piece*>(params.out) + thread, shared_load(piece));
  store_global(static_cast<uint16_t*>(params.out) + thread, shared_load(*reinterpret_cast<const uint16_t*>(&piece)));
  if (elected) stay_branch();
  wait_for_previous_grid();
  allow_next_grid();
  if (elected) {
    tma_store(params.out_map, plan.data, 0, 0);
    tma_store_commit();
    tma_store_wait_read<0>();
  }
  round_tf32(plan.data + 16 * thread);
  const float loaded = load_global_if(params.epilogue.scale_result, elected);
  prefetch_to_l2(params.epilogue.scale_result);
  const uint16_t bits = load_global_if(static_cast<const uint16_t*>(params.a), elected);
  const uint32_t both = load_global_if(static_cast<const uint32_t*>(params.a), elected);
  const Float2 pair = load_global_if(static_cast<const Float2*>(params.a), elected);
  packed[1] =
      pack_bf16x2(exp2(loaded) + bf16_low(bits), maximum(reciprocal(loaded), bf16_high(both)) + pair.low + pair.high);
  store_global(static_cast<uint32_t*>(params.out) + opaque(thread), packed[0] + packed[1]);
  store_global(static_cast<uint16_t*>(params.out) + thread, pack_e4m3x2(floats[0], floats[1]));
  store_global(static_cast<uint8_t*>(params.out) + thread,
               static_cast<uint8_t>(pack_e5m2x2(floats[0], float_of_bits(integers[1]))));
}

}  // namespace hopper_gemm::contract
