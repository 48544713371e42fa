// The options of an epilogue: their rules, and how a kernel is told.
#pragma once
#include <optional>

#include "hopper_gemm.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm {

std::optional<Error> check_epilogue(const KernelConfig& config, const Problem& problem);
EpilogueParams epilogue_params(const Problem& problem);

}  // namespace hopper_gemm
