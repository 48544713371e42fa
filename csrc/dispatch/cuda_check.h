// CUDA runtime calls that must succeed. Only return codes are looked at: cudaGetLastError is sticky and would blame
// this library for an earlier error of the program.
#pragma once
#include <cuda_runtime_api.h>

#include "hopper_gemm.h"
#include "text.h"

namespace hopper_gemm::gpu {

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess)
    throw Error(Error::Kind::runtime, text(what, " failed: ", cudaGetErrorString(code), " (", cudaGetErrorName(code), ")"));
}

}  // namespace hopper_gemm::gpu
