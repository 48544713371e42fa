// The parity suite in the emulator. Findings are printed: some cases ask on purpose what the rules call unknown.
#include <memory>

#include "cases.h"

namespace hopper_gemm::parity {

struct EmulatedMachine {
  std::vector<std::unique_ptr<unsigned char[]>> memory;
  emulator::MemoryMap allocated;  // what the kernels may touch

  void* allocate(size_t bytes) {
    memory.push_back(std::make_unique<unsigned char[]>(bytes + 1024));
    void* address = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.back().get()) + 511) & ~uintptr_t{511});
    const emulator::Footprint footprint("an allocation", address, 1, {{static_cast<int64_t>(bytes), 1}});
    allocated.reads.push_back(footprint);
    allocated.writes.push_back(footprint);
    return address;
  }
  TensorMap encode(const emulator::TensorMapSpec& spec) { return emulator::encode_tensor_map(spec); }
  bool launch(void (*kernel)(const GemmParams&), const GemmParams& params, int ctas, int shared_bytes) {
    emulator::Launch launch = {kernel, ctas, ctas, kThreads, shared_bytes, 168, false, OutputOrder::row_major};
    launch.memory = &allocated;
    const EmulatorReport report = emulator::run(launch, params, {});
    bool ran = true;
    for (const std::string& finding : report.findings) {
      std::fprintf(stderr, "%s\n", finding.c_str());
      ran = ran && finding.find("illegal instruction") == std::string::npos;
    }
    return ran;
  }
};

}  // namespace hopper_gemm::parity

int main(int argc, char** argv) { return hopper_gemm::parity::main_of<hopper_gemm::parity::EmulatedMachine>(argc, argv); }
