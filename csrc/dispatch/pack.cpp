// Launches the packing kernel, on the GPU or in the emulator.
#include "pack.h"

#include "gpu.h"

namespace hopper_gemm {

void copy(const std::vector<Copy>& copies, void* stream) {
  const PackParams params = pack_params(copies);
  if (pack_grid(params) == 0) return;
  gpu::current_device();
  gpu::launch_pack(params, copies[0].element_bytes, stream);
}

EmulatorReport copy_emulated(const std::vector<Copy>& copies, const EmulatorOptions& emulator) {
  const PackParams params = pack_params(copies);
  if (pack_grid(params) == 0) return {};
  emulator::MemoryMap memory;
  for (const Copy& c : copies) {
    memory.reads.push_back(footprint(c, false));
    memory.writes.push_back(footprint(c, true));
  }
  const PackFunction function = emulated::pack_function(copies[0].element_bytes);
  const emulator::Launch launch{.kernel = nullptr,
                                .grid = pack_grid(params),
                                .cluster = 1,
                                .threads = kPackThreads,
                                .shared_bytes = pack_shared_bytes(),
                                .entry_registers = 40,
                                .is_persistent = false,
                                .overlaps_previous_grid = true,
                                .body = [&] { function(params); },
                                .memory = &memory};
  return run_in_emulator(launch, GemmParams{}, emulator, "pack_kernel");
}

}  // namespace hopper_gemm
