// Which GPUs can run this build, what they hold, and what the driver says about a kernel.
#include <atomic>
#include <memory>
#include <vector>

#include "cuda_check.h"
#include "gpu.h"
#include "kernels.h"
#include "text.h"
#include "runtime.h"

namespace hopper_gemm {
namespace {

constexpr int kMaxDevices = 64;

std::string version_text(int version) { return text(version / 1000, ".", version % 1000 / 10); }

// Without a driver every runtime call says "driver version is insufficient", so the driver is asked first.
std::string driver_reason(DeviceInfo& info) {
  cudaRuntimeGetVersion(&info.runtime_version);
  if (cudaDriverGetVersion(&info.driver_version) != cudaSuccess || info.driver_version == 0)
    return "no NVIDIA driver is installed";
  if (info.driver_version / 1000 < info.runtime_version / 1000)
    return text("the NVIDIA driver supports CUDA ", version_text(info.driver_version), ", this build needs ",
                version_text(info.runtime_version / 1000 * 1000), " or later: update the driver");
  return "";
}

std::string device_reason(DeviceInfo& info, int device) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
    return "no GPU is visible (see CUDA_VISIBLE_DEVICES)";
  if (code != cudaSuccess) return text("the CUDA driver failed: ", cudaGetErrorString(code));
  if (device < 0 || device >= count || device >= kMaxDevices)
    return text("there is no CUDA device ", device, ": ", count, count == 1 ? " is" : " are", " visible");
  cudaDeviceProp properties;
  if (const cudaError_t failed = cudaGetDeviceProperties(&properties, device); failed != cudaSuccess)
    return text("CUDA device ", device, " cannot be asked for its properties: ", cudaGetErrorString(failed));
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.l2_bytes = properties.l2CacheSize;
  // sm_90a code runs on compute capability 9.0 alone: the "a" features are not carried to later chips.
  if (info.major != 9 || info.minor != 0)
    return text("CUDA device ", device, " (", info.name, ") has compute capability ", info.major, ".", info.minor,
                ": these kernels need 9.0 (Hopper: H100, H200, GH200)");
  return "";
}

// What is known of one device. Kernel slots are filled by whoever asks first; doing it twice is harmless.
struct DeviceState {
  DeviceInfo info{};
  std::vector<std::atomic<int>> resident_clusters;
  explicit DeviceState(int device) : resident_clusters(kernel_table().count) {
    info.reason = driver_reason(info);
    if (info.reason.empty()) info.reason = device_reason(info, device);
    info.available = info.reason.empty();
  }
};

DeviceState& state_of(int device) {
  if (device < 0 || device >= kMaxDevices) device = kMaxDevices;  // one slot for devices that do not exist
  static std::atomic<DeviceState*> states[kMaxDevices + 1];
  if (DeviceState* known = states[device].load(std::memory_order_acquire)) return *known;
  auto fresh = std::make_unique<DeviceState>(device);
  DeviceState* expected = nullptr;
  if (states[device].compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *expected;
}

// Loading a kernel while a stream is being captured into a graph is allowed only in relaxed mode.
struct RelaxedCapture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode); }
};

// Makes a device current for a scope: attributes and occupancy are asked of the current one.
struct CurrentDevice {
  int before = 0;
  explicit CurrentDevice(int device) {
    gpu::check(cudaGetDevice(&before), "asking for the current CUDA device");
    if (before != device) gpu::check(cudaSetDevice(device), "making a CUDA device current");
  }
  ~CurrentDevice() { cudaSetDevice(before); }
};

int ask_resident_clusters(const KernelEntry& entry, const DeviceInfo& info) {
  const RelaxedCapture relaxed;
  const KernelConfig& config = entry.config;
  gpu::check(cudaFuncSetAttribute(entry.device_function, cudaFuncAttributeMaxDynamicSharedMemorySize, config.shared_bytes()),
             "raising a kernel's shared-memory limit");
  // CTAs of two kernels share an SM only while both want the same part of it as shared memory.
  gpu::check(cudaFuncSetAttribute(entry.device_function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared),
             "asking for as much shared memory as an SM has");
  int clusters = 0;
  if (config.cluster_size() == 1) {
    gpu::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&clusters, entry.device_function, config.threads(),
                                                             config.shared_bytes()),
               "asking for a kernel's occupancy");
    clusters *= info.sm_count;
  } else {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(config.cluster_size()), 1, 1};
    cudaLaunchConfig_t launch{};
    launch.gridDim = dim3(config.cluster_size());
    launch.blockDim = dim3(config.threads());
    launch.dynamicSmemBytes = config.shared_bytes();
    launch.attrs = &attribute;
    launch.numAttrs = 1;
    gpu::check(cudaOccupancyMaxActiveClusters(&clusters, entry.device_function, &launch), "asking for a kernel's occupancy");
  }
  if (clusters < 1)
    throw Error(Error::Kind::runtime, text("kernel ", entry.name, " does not fit on ", info.name, ": ", config.threads(),
                                           " threads and ", config.shared_bytes(), " bytes of shared memory per CTA"));
  return clusters;
}

}  // namespace

namespace gpu {

int usable_current_device() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return -1;
  return state_of(device).info.available ? device : -1;
}

int current_device() {
  int device = 0;
  const cudaError_t code = cudaGetDevice(&device);
  const DeviceInfo& info = state_of(code == cudaSuccess ? device : 0).info;
  if (!info.available) throw Error(Error::Kind::runtime, "cannot run on the GPU: " + info.reason);
  check(code, "asking for the current CUDA device");
  return device;
}

int resident_clusters(int id, int device) {
  DeviceState& state = state_of(device);
  std::atomic<int>& slot = state.resident_clusters[id];
  int clusters = slot.load(std::memory_order_relaxed);
  if (clusters == 0) {
    const CurrentDevice current(device);
    clusters = ask_resident_clusters(compiled_entry(id), state.info);
    slot.store(clusters, std::memory_order_relaxed);
  }
  return clusters;
}

}  // namespace gpu

DeviceInfo device_info(int device) { return state_of(device).info; }

KernelResources kernel_resources(int id, int device) {
  const KernelEntry& entry = compiled_entry(id);
  const DeviceInfo info = device_info(device);
  if (!info.available) throw Error(Error::Kind::runtime, "cannot ask the GPU about a kernel: " + info.reason);
  const CurrentDevice current(device);
  cudaFuncAttributes attributes;
  gpu::check(cudaFuncGetAttributes(&attributes, entry.device_function), "asking for a kernel's attributes");
  return {.registers = attributes.numRegs,
          .static_shared_bytes = static_cast<int>(attributes.sharedSizeBytes),
          .local_bytes = static_cast<int>(attributes.localSizeBytes),
          .max_threads = attributes.maxThreadsPerBlock,
          .resident_clusters = gpu::resident_clusters(id, device)};
}

void use_device(int device) {
  int current = -1;
  if (cudaGetDevice(&current) != cudaSuccess || current != device) {
    const DeviceInfo& info = state_of(device).info;
    if (!info.available) throw Error(Error::Kind::runtime, "cannot run on the GPU: " + info.reason);
    gpu::check(cudaSetDevice(device), "making the tensors' device current");
  }
}

std::string cuda_version() { return version_text(CUDART_VERSION); }

}  // namespace hopper_gemm
