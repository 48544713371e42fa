// Library structs <-> Python dicts. Kernel dicts have the fields of manifest.Row and the derived numbers.
#pragma once
#include <torch/csrc/utils/pybind.h>

#include "hopper_gemm.h"

namespace hopper_gemm {

namespace py = pybind11;

py::dict kernel_dict(int id);
py::dict launch_dict(const LaunchShape& shape);
py::dict device_dict(const DeviceInfo& info);
py::dict resources_dict(const KernelResources& resources);
py::dict report_dict(const EmulatorReport& report);

// From a dict with the fields of manifest.Row (others are ignored); throws Error(value) for a missing or unknown one.
KernelConfig config_of(const py::dict& fields);

}  // namespace hopper_gemm
