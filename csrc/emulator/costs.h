// The timed mode's virtual cycles. Only their proportions matter: wgmma and TMA follow the hardware's rates, the rest is
// chosen so that a 128x256 epilogue takes 2,000 to 4,000 cycles (about what fast.cu measured for a direct store).
#pragma once

namespace hopper_gemm::emulator::costs {

constexpr int kBarrier = 20;        // mbarrier, named and CTA barriers, fences
constexpr int kRemoteArrive = 200;  // until the other CTA sees it
constexpr int kIssue = 8;           // wgmma, TMA and cp.async issue
constexpr int kRegister = 2;        // elect, shuffles
constexpr int kStmatrix = 100;
constexpr int kStoreGlobal = 40;
constexpr int kLoadLatency = 800;  // TMA and cp.async
constexpr int kStoreLatency = 500;
constexpr int kPortBytes = 64;  // a cycle and CTA, loads and stores each: the L2 port of an SM

constexpr int wgmma_cycles(int n) { return n / 2; }

}  // namespace hopper_gemm::emulator::costs
