// What the tensor cores can do under the card's power limit: the wgmmas of the 128 x 256 cooperative kernel on tiles that lie
// in shared memory already. No loads, no barriers, no epilogue. benchmarks/ceiling.py builds and times it.
#include <cuda_runtime.h>

#include "hopper_gemm/kernel/context.h"
#include "hopper_gemm/mainloop/mma.h"

namespace hopper_gemm {

struct Ceiling {
  static constexpr KernelConfig config = {.schedule = Schedule::cooperative,
                                          .a_type = DataType::bf16,
                                          .b_type = DataType::bf16,
                                          .accumulator = DataType::f32,
                                          .a_major = Major::k,
                                          .b_major = Major::k,
                                          .tile_m = 128,
                                          .tile_n = 256,
                                          .tile_k = 64,
                                          .cluster_m = 1,
                                          .cluster_n = 1,
                                          .stages = 4,
                                          .consumers = 2,
                                          .a_swizzle = Swizzle::b128,
                                          .b_swizzle = Swizzle::b128,
                                          .store = Store::direct,
                                          .mmas_in_flight = 1};
};
constexpr KernelConfig kCeiling = Ceiling::config;
constexpr int kThreads = kCeiling.consumers * kWarpgroupThreads;
constexpr int kOperandBytes = kCeiling.stages * kCeiling.stage_bytes();

// params.a: kOperandBytes of random bf16 for the stages; params.k: k-blocks; params.out: never written.
HG_KERNEL(kThreads) ceiling_kernel(HG_PARAM(GemmParams) params) {
  const auto context = Context<Ceiling>::make(params);
  auto* stages = reinterpret_cast<arch::Piece*>(&context.shared.a[0][0]);
  const auto* from = static_cast<const arch::Piece*>(params.a);
  for (uint32_t i = arch::thread_index(); i < kOperandBytes / sizeof(arch::Piece); i += kThreads) stages[i] = from[i];
  arch::async_proxy_fence();
  arch::cta_sync();

  Accumulator<Ceiling> acc;
  const int row = static_cast<int>(context.warpgroup) * kCeiling.warpgroup_m();
  int stage = 0;
  HG_NO_UNROLL for (int k_block = 0; k_block < params.k; ++k_block) {
    issue_stage(context, acc, stage, row, k_block > 0);
    arch::wgmma_wait<1>();
    stage = stage + 1 == kCeiling.stages ? 0 : stage + 1;
  }
  arch::wgmma_wait<0>();
  acc.fence();
  // Keeps the products alive: no sum of random numbers has this value.
  HG_UNROLL for (int i = 0; i < kCeiling.mma_registers(); ++i)
    if (acc.d[0][i] == 1e30f) static_cast<float*>(params.out)[i] = acc.d[0][i];
}

}  // namespace hopper_gemm

extern "C" int ceiling_operand_bytes() { return hopper_gemm::kOperandBytes; }
extern "C" long long ceiling_flops(int ctas, int k_blocks) {
  constexpr auto c = hopper_gemm::kCeiling;
  return 2LL * c.tile_m * c.tile_n * c.tile_k * k_blocks * ctas;
}
extern "C" int ceiling_launch(const void* operands, void* out, int ctas, int k_blocks, void* stream) {
  using namespace hopper_gemm;
  cudaFuncSetAttribute(ceiling_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kCeiling.shared_bytes());
  GemmParams params{};
  params.a = operands, params.out = out, params.k = k_blocks;
  ceiling_kernel<<<ctas, kThreads, kCeiling.shared_bytes(), static_cast<cudaStream_t>(stream)>>>(params);
  return static_cast<int>(cudaGetLastError());
}
