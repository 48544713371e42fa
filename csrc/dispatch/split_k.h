// Split K through memory: a product as a batch of products over equal slices of K, f32 into a workspace, and a second
// launch that adds them up in order (kernel/add_slices.h). For outputs with too few tiles to fill the card.
#pragma once
#include "hopper_gemm.h"
#include "hopper_gemm/core/params.h"
#include "hopper_gemm/core/slice_sum.h"
#include "registry.h"

namespace hopper_gemm {

using EmulatedFunction = void (*)(const GemmParams&);
namespace compiled {
const void* add_slices_function(OutputOrder order, int index);  // host stub; null without nvcc
}
namespace emulated {
EmulatedFunction add_slices_function(OutputOrder order, int index);  // null without the emulator
}

// The kernel of the second launch, of those of core/slice_sum.h.
const KernelEntry& slice_sum_entry(OutputOrder order, int slices);

// Empty if the problem can be cut into `slices`, else which rule and which number forbid it.
std::string slices_error(const KernelConfig& config, const Problem& problem, int slices);

// The first launch: batch i multiplies slice i.
Problem sliced(const Problem& problem, int slices, void* workspace);

// What the second launch reads, beside the problem's output.
void read_slices(GemmParams& params, const Problem& slices);

}  // namespace hopper_gemm
