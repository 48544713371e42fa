// Prints what the configs of a build say, one CSV row per kernel; tools/kernel_table.py adds what ptxas said.
#include <cstdio>

#include "hopper_gemm.h"

int main() {
  std::puts(
      "id,name,threads,shared_bytes,stage_bytes,stages,accumulator_registers,entry_registers,consumer_registers,producer_"
      "registers");
  int id = 0;
  for (const hopper_gemm::KernelInfo& kernel : hopper_gemm::kernels()) {
    const hopper_gemm::KernelConfig& c = kernel.config;
    const bool moves = c.moves_registers();
    std::printf("%d,%s,%d,%d,%d,%d,%d,%d,%d,%d\n", id++, kernel.name.c_str(), c.threads(), c.shared_bytes(), c.stage_bytes(),
                c.stages, c.accumulator_registers(), c.entry_registers(),
                moves ? c.consumer_registers() : c.entry_registers(), moves ? c.producer_registers() : c.entry_registers());
  }
}
