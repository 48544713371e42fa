// Whether a kernel can run a problem; the one place that validates it.
#pragma once
#include <optional>

#include "hopper_gemm.h"

namespace hopper_gemm {

// TMA and cp.async move 16 bytes at a time: row pitches and base pointers of A and B are multiples of it.
constexpr int kAccessBytes = 16;
// Extents are 32-bit in the kernel and rounded up to whole clusters of tiles there (at most 4 x 256).
constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1 - 1024;

std::optional<Error> check_problem(const KernelConfig& config, const Problem& problem);

}  // namespace hopper_gemm
