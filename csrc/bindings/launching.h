// From torch's current stream to a launch of the library.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/python_headers.h>

#include "hopper_gemm.h"

namespace hopper_gemm {

// `static_b`: of the caller's product, whose b is the kernel's A if they are exchanged.
LaunchOptions options_of(int raster, int group, int max_ctas, int slices, bool static_b = false, bool exchanged = false);

// Memory for the slices of a split K, from torch's allocator in the current stream's order: it may be reused by what
// follows in this stream once the launches are queued. Sets options.workspace.
at::Tensor workspace_of(const Problem& problem, LaunchOptions& options, c10::Device device);

// Launches on the current stream of a CUDA device, without holding Python's lock.
void launch_on_stream(int id, const Problem& problem, LaunchOptions options, c10::Device device);

// The same for CPU tensors, in the emulator. Throws Error(runtime) with its findings.
void emulate(int id, const Problem& problem, LaunchOptions options);

// Python's exception for one of the library's.
PyObject* exception_of(Error::Kind kind);

}  // namespace hopper_gemm
