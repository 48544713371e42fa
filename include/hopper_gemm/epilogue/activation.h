// The activations, in fp32. Every one but relu is x * s or s with s in (0, 1) made from one power of two w:
//   sigmoid, silu, gelu_tanh : s = 1 / (1 + w),  w = 2^(-y log2 e); 0.5 (1 + tanh u) is the sigmoid of y = 2u
//   gelu                     : s = w for x < 0, 1 - w otherwise, w = erfc(|x| / sqrt 2) / 2
// NaN in, NaN out; infinities as in torch (silu and gelu of -inf are NaN).
#pragma once
#include <cmath>

#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/types.h"

namespace hopper_gemm {

// 1 - log2 erfc(t / sqrt 2) for t >= 0: minimax over 0 ... 7 weighted with w^0.7. x * s differs from the exact gelu by at most
// 8e-8 * max(|x|, 1), relative 4e-6 down to x = -3 (torch's fp32 gelu: 2.7e-7 and 1.3e-4; tests/test_epilogue_options.py).
HG_DEVICE float gelu_exponent(float t) {
  constexpr float kCoefficients[] = {0x1.c69ef2p-20f, -0x1.b57576p-16f, 0x1.06e45ap-13f,
                                     0x1.219fb0p-12f, -0x1.d9fa88p-8f,  0x1.aee952p-5f,
                                     0x1.d632dcp-2f,  0x1.26af02p+0f,   1.0f};
  float sum = kCoefficients[0];
  HG_UNROLL for (int i = 1; i < 9; ++i)
    sum = sum * t + kCoefficients[i];
  return sum;
}

HG_DEVICE float logistic(float y_log2e) { return arch::reciprocal(1.0f + arch::exp2(-y_log2e)); }

template <Activation kActivation>
HG_DEVICE float activated(float x) {
  constexpr float kLog2E = 0x1.715476p+0f;
  if constexpr (kActivation == Activation::relu) return arch::maximum(x, 0.0f);
  if constexpr (kActivation == Activation::sigmoid) return logistic(x * kLog2E);
  if constexpr (kActivation == Activation::silu) return x * logistic(x * kLog2E);
  if constexpr (kActivation == Activation::gelu_tanh) {
    constexpr float kLinear = 1.5957691216057308f * kLog2E, kCubic = 0.044715f * kLinear;  // 2 sqrt(2 / pi)
    return x * logistic(x * (kLinear + kCubic * (x * x)));
  }
  if constexpr (kActivation == Activation::gelu) {
    const float w = arch::exp2(-gelu_exponent(std::fabs(x)));
    return x * (x < 0 ? w : 1.0f - w);
  }
  return x;
}

}  // namespace hopper_gemm
