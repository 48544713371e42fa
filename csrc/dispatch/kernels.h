// Access to the kernel table by id, with sentences for ids and machines that are not there.
#pragma once
#include "hopper_gemm.h"
#include "registry.h"

namespace hopper_gemm {

const KernelEntry& entry_at(int id);        // throws Error(value) if there is no such id
const KernelEntry& compiled_entry(int id);  // throws Error(runtime) if it was not compiled for the GPU
const KernelEntry& emulated_entry(int id);  // throws Error(runtime) if it was not built for the emulator

}  // namespace hopper_gemm
