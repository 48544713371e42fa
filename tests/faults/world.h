// The kernels the must-fail tests mutate: one of each protocol class, at its smallest tile. The table is in
// world_kernels.cpp, compiled over a copy of include/; the harness (world.cpp) is compiled once.
#pragma once
#include "hopper_gemm/core/config.h"
#include "hopper_gemm/core/pack_params.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm::test {

struct WorldKernel {
  const char* name;
  KernelConfig config;
  void (*function)(const GemmParams&);  // null if this build does not want it
};

struct World {
  const WorldKernel* kernels;
  int count;
  void (*pack)(const PackParams&);  // the packing kernel, "pack"; null likewise
};
World world();

}  // namespace hopper_gemm::test
