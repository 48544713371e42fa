// Integer helpers shared by host and device code.
#pragma once
#include <cstdint>

namespace hopper_gemm {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int round_up(int value, int multiple) { return ceil_div(value, multiple) * multiple; }
constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

}  // namespace hopper_gemm
