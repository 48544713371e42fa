// The global memory that the epilogue's operations may read, and its hazards with what the kernel writes.
#pragma once
#include <unordered_map>
#include <vector>

#include "emulator.h"
#include "footprint.h"
#include "hopper_gemm/arch/emu/machine.h"

namespace hopper_gemm::emulator {

class EpilogueMemory {
 public:
  struct Side {
    uint32_t block;
    int warpgroup;
    Line line;
  };
  EpilogueMemory(const GemmParams& params, int64_t stored_rows, int64_t stored_columns);

  // Nothing but elements of those tensors is asked for.
  void check(const char* what, const void* address, int bytes, Line line) const;
  // By the running thread; a write counts from its issue.
  void read(const void* address, int bytes, Line line);
  void write(const void* address, int64_t bytes, const char* what, Line line);
  void write_box(const TensorMapSpec& spec, int c0, int c1, int c2, Line line);

 private:
  std::vector<Footprint> readable_;
  bool shares_output_ = false;                          // else nothing below is kept
  std::unordered_map<uintptr_t, Side> reads_, writes_;  // by address: the last one
};

}  // namespace hopper_gemm::emulator
