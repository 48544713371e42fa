// Build option HG_WATCHDOG: what a wait of more than 2 s reported before its kernel trapped.
#pragma once
#include <string>

namespace hopper_gemm {

// "" if nothing was reported. Ask after a failed stream synchronisation; the word survives the dead context.
std::string watchdog_report();

// Version of the CUDA runtime the kernels were built with ("13.0"), "" for an emulator-only build.
std::string cuda_version();

}  // namespace hopper_gemm
