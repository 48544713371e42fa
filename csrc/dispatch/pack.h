// Copies between memory of any strides as launches of the packing kernel (kernel/pack.h).
#pragma once
#include "../emulator/emulator.h"
#include "hopper_gemm.h"
#include "hopper_gemm/core/pack_params.h"

namespace hopper_gemm {

using PackFunction = void (*)(const PackParams&);
namespace compiled {
const void* pack_function(int element_bytes);  // host stub of pack_kernel, for nvcc builds
}
namespace emulated {
PackFunction pack_function(int element_bytes);
}

// Throws Error(value) for what the kernel cannot address.
PackParams pack_params(const std::vector<Copy>& copies);

constexpr int pack_shared_bytes() { return kTilePieces * kPieceBytes; }
inline int64_t pack_grid(const PackParams& params) { return int64_t{params.jobs[0].tiles} + params.jobs[1].tiles; }

// Runs a launch; throws its findings unless they are to be kept (launch.cpp).
EmulatorReport run_in_emulator(const emulator::Launch& launch, const GemmParams& params, const EmulatorOptions& options,
                               const char* kernel);

// The bytes of one side, for the emulator.
emulator::Footprint footprint(const Copy& copy, bool of_target);

}  // namespace hopper_gemm
