// The launch itself. Its return code alone is judged; errors of earlier work surface where that work is waited for.
#include "cuda_check.h"
#include "gpu.h"

namespace hopper_gemm::gpu {

void launch(const KernelEntry& entry, const LaunchShape& shape, const GemmParams& params, void* stream) {
  // Kernels wait for the grid before them (griddepcontrol.wait) before they touch global memory, but for a static operand, so
  // their set-up may overlap its tail: 1.2 x at 512^3, 1.08 x at 1024^3 in a CUDA graph of products (H200, 2026-11-29).
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(shape.cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.grid));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<size_t>(shape.shared_bytes);
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = attributes;
  config.numAttrs = shape.cluster > 1 ? 2 : 1;
  void* arguments[] = {const_cast<GemmParams*>(&params)};
  const cudaError_t code = cudaLaunchKernelExC(&config, entry.device_function, arguments);
  if (code != cudaSuccess)
    throw Error(Error::Kind::runtime, text("launching kernel ", entry.name, " (", shape.grid, " CTAs of ", shape.threads,
                                           " threads, clusters of ", shape.cluster, ", ", shape.shared_bytes,
                                           " bytes of shared memory) failed: ", cudaGetErrorString(code)));
}

void launch_pack(const PackParams& params, int element_bytes, void* stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(pack_grid(params)));
  config.blockDim = dim3(kPackThreads);
  config.dynamicSmemBytes = pack_shared_bytes();
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {const_cast<PackParams*>(&params)};
  check(cudaLaunchKernelExC(&config, compiled::pack_function(element_bytes), arguments), "launching the packing kernel");
}

void clear(const Problem& p, void* stream) {
  const size_t bytes = element_bytes(p.output);
  for (int64_t batch = 0; batch < p.batches; ++batch)
    check(cudaMemset2DAsync(static_cast<char*>(p.out) + batch * p.out_batch * bytes, p.out_pitch * bytes, 0,
                            p.stored_columns() * bytes, p.stored_rows(), static_cast<cudaStream_t>(stream)),
          "clearing the output");
}

}  // namespace hopper_gemm::gpu
