// The parity suite in the emulator. Findings are printed: some cases ask on purpose what the rules call unknown.
#include <memory>

#include "cases.h"

namespace hopper_gemm::parity {

struct EmulatedMachine {
  std::vector<std::unique_ptr<unsigned char[]>> memory;

  void* allocate(size_t bytes) {
    memory.push_back(std::make_unique<unsigned char[]>(bytes + 1024));
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.back().get()) + 511) & ~uintptr_t{511});
  }
  TensorMap encode(const emulator::TensorMapSpec& spec) { return emulator::encode_tensor_map(spec); }
  bool launch(void (*kernel)(const GemmParams&), const GemmParams& params, int ctas, int shared_bytes) {
    const EmulatorReport report = emulator::run({kernel, ctas, ctas, kThreads, shared_bytes, 168, false, OutputOrder::row_major}, params, {});
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
