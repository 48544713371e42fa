// The parity suite on the card: writes the golden data. Built by tests/parity/card.sh.
#include <cuda_runtime.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "../../csrc/dispatch/gpu.h"
#include "cases.h"

namespace hopper_gemm::parity {

struct Card {
  int launches = 0;       // in the order of cases.h: tells which case a failure belongs to
  std::set<int> refused;  // launches known to be illegal instructions: one ends the process, so card.sh starts it again

  Card() {
    std::stringstream numbers(std::getenv("PARITY_REFUSED") == nullptr ? "" : std::getenv("PARITY_REFUSED"));
    for (int number; numbers >> number;) refused.insert(number);
  }

  static void check(cudaError_t code, const char* what) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    std::exit(1);
  }
  void* allocate(size_t bytes) {
    void* memory = nullptr;
    check(cudaMallocManaged(&memory, bytes), "cudaMallocManaged");
    std::memset(memory, 0, bytes);
    return memory;
  }
  TensorMap encode(const emulator::TensorMapSpec& spec) { return gpu::encode_tensor_map(spec); }
  bool launch(void (*kernel)(GemmParams), const GemmParams& params, int ctas, int shared_bytes) {
    if (refused.count(++launches)) return false;
    const void* function = reinterpret_cast<const void*>(kernel);
    check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes), "shared memory");
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(ctas), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(ctas));
    config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
    config.attrs = &attribute;
    config.numAttrs = 1;
    void* arguments[] = {const_cast<GemmParams*>(&params)};
    check(cudaLaunchKernelExC(&config, function, arguments), "launch");
    const cudaError_t code = cudaDeviceSynchronize();
    if (code == cudaErrorIllegalInstruction) {
      std::printf("refused %d\n", launches);
      std::exit(3);
    }
    check(code, ("kernel of launch " + std::to_string(launches)).c_str());
    return true;
  }
};

}  // namespace hopper_gemm::parity

int main(int argc, char** argv) { return hopper_gemm::parity::main_of<hopper_gemm::parity::Card>(argc, argv); }
