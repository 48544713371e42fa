// Runs a hand-written kernel in the emulator.
#pragma once
#include <cstring>

#include "../../csrc/emulator/emulator.h"
#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/swizzle.h"

namespace hopper_gemm::test {

struct RunOptions {
  uint64_t seed = 0;
  int threads = 32;
  int grid = 1;
  int cluster = 1;
  int registers = 168;
  bool overlaps_previous_grid = false;
};

inline EmulatorReport run_kernel(void (*kernel)(const GemmParams&), const GemmParams& params, int shared_bytes,
                                 RunOptions run = {}) {
  EmulatorOptions options;
  options.seed = run.seed;
  emulator::Launch launch{kernel, run.grid, run.cluster, run.threads, shared_bytes, run.registers, false};
  launch.overlaps_previous_grid = run.overlaps_previous_grid;
  return emulator::run(launch, params, options);
}

}  // namespace hopper_gemm::test
