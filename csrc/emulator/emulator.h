// The emulator's host interface: runs a grid of CTAs of an emulated kernel on fibers.
#pragma once
#include <cstdint>
#include <functional>

#include "footprint.h"
#include "hopper_gemm.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm::emulator {

// Host description of a 3-D tensor map, the arguments of cuTensorMapEncodeTiled: matrices of a batch. A box holds a part of
// one matrix.
struct TensorMapSpec {
  void* address;
  DataType type;
  uint64_t extent[2];    // elements, innermost first
  uint64_t pitch_bytes;  // of dimension 1
  uint32_t box[2];       // elements
  Swizzle swizzle;
  uint64_t batches = 1;
  uint64_t batch_bytes = 16;  // of dimension 2
};

// Same rules and refusals as cuTensorMapEncodeTiled (throws Error naming the rule).
TensorMap encode_tensor_map(const TensorMapSpec& spec);

struct Launch {
  void (*kernel)(const GemmParams&);
  int64_t grid;
  int cluster;  // CTAs per cluster, 1-D: CTA i belongs to cluster i / cluster
  int threads;
  int shared_bytes;
  int entry_registers;  // per thread, for the setmaxnreg pool
  bool is_persistent;
  OutputOrder output = OutputOrder::row_major;
  bool overlaps_previous_grid = false;  // launched with programmatic stream serialization, as the library's kernels are
  bool operands_overlap = false;        // A and B interleave in memory: an address does not say whose it is
  std::function<void()> body = {};      // what a thread runs if not kernel(params): kernels with other parameters
  const MemoryMap* memory = nullptr;    // global memory it may touch; null: the output of `params` alone is checked
  int operand_bytes = 2;                // of an element of A and B: tells which element cp.async copies
};

// The result of protocol-only mode: small integers that every output type holds exactly.
constexpr int protocol_value(int m, int n, int batch = 0) {
  return (m * 31 + n * 7 + (m % 13) * (n % 11) + batch * 101) % 250 + 1;
}

EmulatorReport run(const Launch& launch, const GemmParams& params, const EmulatorOptions& options);

}  // namespace hopper_gemm::emulator
