// Launches hold neither Python's lock nor a device that is not theirs.
#include "launching.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/utils/pybind.h>

#include "runtime.h"
#include "stream.h"
#include "text.h"

namespace hopper_gemm {

LaunchOptions options_of(int raster, int group, int max_ctas, int slices, bool static_b, bool exchanged) {
  if (raster < 0 || raster > static_cast<int>(Raster::apart))
    throw Error(Error::Kind::value, text("raster is ", raster, ": expected 0 (along_m), 1 (along_n) or 2 (apart)"));
  return {.raster = static_cast<Raster>(raster),
          .group = group,
          .max_ctas = max_ctas,
          .slices = slices,
          .static_operand = !static_b   ? StaticOperand::none
                            : exchanged ? StaticOperand::a
                                        : StaticOperand::b};
}

at::Tensor workspace_of(const Problem& problem, LaunchOptions& options, c10::Device device) {
  const int64_t bytes = split_k_bytes(problem, options.slices);
  if (bytes == 0) return {};
  at::Tensor memory = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device));
  options.workspace = memory.data_ptr();
  return memory;
}

void launch_on_stream(int id, const Problem& problem, LaunchOptions options, c10::Device device) {
  const pybind11::gil_scoped_release released;
  const c10::DeviceGuard guard(device);
  use_device(device.index());
  const at::Tensor workspace = workspace_of(problem, options, device);
  gemm(id, problem, options, current_stream(device));
}

void emulate(int id, const Problem& problem, LaunchOptions options) {
  const pybind11::gil_scoped_release released;
  const at::Tensor workspace = workspace_of(problem, options, c10::Device(c10::kCPU));
  gemm_emulated(id, problem, options, {});
}

PyObject* exception_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::value: return PyExc_ValueError;
    case Error::Kind::type: return PyExc_TypeError;
    case Error::Kind::not_implemented: return PyExc_NotImplementedError;
    case Error::Kind::runtime: break;
  }
  return PyExc_RuntimeError;
}

}  // namespace hopper_gemm
