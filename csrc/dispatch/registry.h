// The one list of kernels. The generator writes one KernelEntry table; there are no static constructors.
#pragma once
#include "hopper_gemm/core/config.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm {

struct KernelEntry {
  const char* name;
  KernelConfig config;
  const void* device_function;                   // host stub of gemm_kernel<K> compiled by nvcc; null if not compiled
  void (*emulated_function)(const GemmParams&);  // gemm_kernel<K> compiled for the emulator; null if not built
  bool automatic;
};

struct KernelTable {
  const KernelEntry* entries;
  int count;
};
KernelTable kernel_table();  // defined in the generated registry.cpp

// Build option HG_WATCHDOG: points one generated file's waits at a host-mapped word; returns a cudaError_t.
using WatchdogSetter = int (*)(unsigned long long*);
struct WatchdogTable {
  const WatchdogSetter* setters;
  int count;  // 0: built without the watchdog
};
WatchdogTable watchdog_table();  // defined in the generated registry.cpp

}  // namespace hopper_gemm
