// The current stream of a tensor's device as a cudaStream_t, without CUDA headers.
#pragma once
#include <c10/core/Device.h>

namespace hopper_gemm {

void* current_stream(c10::Device device);

}  // namespace hopper_gemm
