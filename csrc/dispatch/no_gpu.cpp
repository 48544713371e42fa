// The build without nvcc: everything that needs a GPU says how to get one. Linked instead of gpu_*.cpp.
#include "gpu.h"
#include "split_k.h"
#include "text.h"
#include "runtime.h"

namespace hopper_gemm {
namespace {

const char* const kReason =
    "this build has the emulator only, because nvcc was not found or HG_CUDA=OFF: build again where nvcc 13 is found "
    "(CUDACXX, CUDA_HOME or PATH), with -DHG_CUDA=ON to insist";

[[noreturn]] void refuse() { throw Error(Error::Kind::runtime, kReason); }

}  // namespace

namespace gpu {
int current_device() { refuse(); }
int usable_current_device() { return -1; }
int resident_clusters(int, int) { refuse(); }
TensorMap encode_tensor_map(const TensorMapSpec&) { refuse(); }
void launch(const KernelEntry&, const LaunchShape&, const GemmParams&, void*) { refuse(); }
void launch_pack(const PackParams&, int, void*) { refuse(); }
void clear(const Problem&, void*) { refuse(); }
void arm_watchdog(int) { refuse(); }
}  // namespace gpu

namespace compiled {
const void* add_slices_function(OutputOrder, int) { return nullptr; }
}  // namespace compiled

DeviceInfo device_info(int) {
  DeviceInfo info{};
  info.reason = kReason;
  return info;
}

KernelResources kernel_resources(int, int) { refuse(); }
std::string watchdog_report() { return ""; }
std::string cuda_version() { return ""; }
void use_device(int) { refuse(); }

}  // namespace hopper_gemm
