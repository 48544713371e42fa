// What the library asks of a CUDA device. gpu_*.cpp answer through the CUDA runtime; without nvcc no_gpu.cpp refuses.
#pragma once
#include "operands.h"
#include "pack.h"
#include "plan.h"
#include "registry.h"

namespace hopper_gemm::gpu {

// The current device of this thread; throws Error(runtime) with device_info's reason if it cannot run our kernels.
int current_device();
int usable_current_device();  // the same, or -1

// Clusters of this kernel that the device holds at once (asked once per device and kernel).
// Also raises the kernel's shared-memory limit, so call it before the first launch.
int resident_clusters(int id, int device);

// cuTensorMapEncodeTiled, with the last few maps of this thread remembered.
TensorMap encode_tensor_map(const TensorMapSpec& spec);

void launch(const KernelEntry& entry, const LaunchShape& shape, const GemmParams& params, void* stream);

void launch_pack(const PackParams& params, int element_bytes, void* stream);

// Fills the output with zeros, in the stream: the product of matrices with K = 0.
void clear(const Problem& problem, void* stream);

// Tells the kernels of this device where a stuck wait reports to; nothing without HG_WATCHDOG.
void arm_watchdog(int device);

}  // namespace hopper_gemm::gpu
