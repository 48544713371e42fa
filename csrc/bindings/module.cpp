// The extension module hopper_gemm._C: host C++ over libhopper_gemm, no CUDA headers, so one source serves CPU and CUDA
// builds of torch. The current stream comes from torch's own device interface.
#include <c10/core/DeviceGuard.h>

#include <pybind11/stl.h>

#include "dicts.h"
#include "dispatch_state.h"
#include "launches.h"
#include "launching.h"
#include "product.h"
#include "runtime.h"
#include "stream.h"
#include "tensors.h"
#include "text.h"

namespace hopper_gemm {
namespace {

void gemm_torch(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, int raster, int group, int max_ctas,
                bool exchanged, int slices, const EpilogueTensors* epilogue, bool static_b) {
  const Problem problem = problem_of(id, a, b, out, exchanged, epilogue);
  if (!a.is_cuda())
    throw Error(Error::Kind::runtime,
                text("tensors on ", a.device(), ": kernels run on CUDA tensors; gemm_emulated takes CPU tensors"));
  launch_on_stream(id, problem, options_of(raster, group, max_ctas, slices, static_b, exchanged), a.device());
}

py::dict gemm_emulated_torch(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, int raster, int group,
                             uint64_t seed, int sm_count, bool timed, bool trace, bool protocol_only, bool keep_findings,
                             bool exchanged, int slices, const EpilogueTensors* epilogue, bool static_b) {
  const Problem problem = problem_of(id, a, b, out, exchanged, epilogue);
  if (!a.is_cpu()) throw Error(Error::Kind::runtime, text("tensors on ", a.device(), ": the emulator takes CPU tensors"));
  EmulatorReport report;
  {
    const py::gil_scoped_release released;
    LaunchOptions options = options_of(raster, group, 0, slices, static_b, exchanged);
    const at::Tensor workspace = workspace_of(problem, options, a.device());
    report = gemm_emulated(id, problem, options,
                           {.seed = seed,
                            .sm_count = sm_count,
                            .timed = timed,
                            .trace = trace,
                            .protocol_only = protocol_only,
                            .keep_findings = keep_findings});
  }
  return report_dict(report);
}

std::vector<Copy> copies_of(const std::vector<std::tuple<at::Tensor, at::Tensor, int64_t, int>>& pairs) {
  std::vector<Copy> copies;
  for (const auto& [source, target, padded, split] : pairs) copies.push_back(copy_of(source, target, padded, split));
  return copies;
}

void copy_torch(const std::vector<std::tuple<at::Tensor, at::Tensor, int64_t, int>>& pairs) {
  const std::vector<Copy> copies = copies_of(pairs);
  const c10::Device device = std::get<0>(pairs.at(0)).device();
  if (!device.is_cuda())
    throw Error(Error::Kind::runtime, text("tensors on ", device, ": copy takes CUDA tensors, copy_emulated CPU tensors"));
  const py::gil_scoped_release released;
  const c10::DeviceGuard guard(device);
  use_device(device.index());
  copy(copies, current_stream(device));
}

py::dict copy_emulated_torch(const std::vector<std::tuple<at::Tensor, at::Tensor, int64_t, int>>& pairs, uint64_t seed,
                             int sm_count, bool keep_findings) {
  const std::vector<Copy> copies = copies_of(pairs);
  EmulatorReport report;
  {
    const py::gil_scoped_release released;
    report = copy_emulated(copies, {.seed = seed, .sm_count = sm_count, .keep_findings = keep_findings});
  }
  return report_dict(report);
}

std::string problem_error_torch(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool exchanged,
                                const EpilogueTensors* epilogue) {
  try {
    return problem_error(id, problem_of(id, a, b, out, exchanged, epilogue));
  } catch (const Error& error) {
    return error.what();
  }
}

py::dict launch_shape_torch(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, int raster, int group,
                            int max_ctas, bool exchanged, int slices, const EpilogueTensors* epilogue) {
  const Problem problem = problem_of(id, a, b, out, exchanged, epilogue);
  const c10::DeviceGuard guard(a.device());
  if (a.is_cuda()) use_device(a.device().index());
  return launch_dict(launch_shape(id, problem, options_of(raster, group, max_ctas, slices)));
}

py::dict product_torch(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, const EpilogueTensors* epilogue) {
  const Product product = product_of(a, b, out, addends_of(epilogue, out));
  const auto side = [](const Matrices& m) {
    return py::make_tuple(m.batch_stride, m.row_stride, m.column_stride, m.regular);
  };
  py::dict d;
  d["batches"] = product.batches;
  d["m"] = product.m;
  d["n"] = product.n;
  d["k"] = product.k;
  d["a"] = side(product.a);
  d["b"] = side(product.b);
  d["out"] = side(product.out);
  d["folded"] = product.folded;
  py::list addends;
  for (const Matrices& addend : product.addends) addends.append(side(addend));
  d["addends"] = addends;
  return d;
}

py::list kernel_list() {
  py::list list;
  for (int id = 0; id < static_cast<int>(kernels().size()); ++id) list.append(kernel_dict(id));
  return list;
}

py::dict build_info() {
  py::dict d;
  d["torch"] = HG_TORCH_VERSION;
  d["cuda"] = cuda_version();
  d["sources_sha"] = sources_sha();
  d["compiler"] = __VERSION__;
  return d;
}

// "2.13" of "2.13.0+cpu": patch releases of torch keep their C++ interface.
std::string minor_version(const std::string& version) { return version.substr(0, version.find('.', version.find('.') + 1)); }

void check_torch() {
  const auto found = py::module_::import("torch").attr("__version__").cast<std::string>();
  if (minor_version(found) != minor_version(HG_TORCH_VERSION))
    throw py::import_error(text("hopper_gemm._C was built against torch ", HG_TORCH_VERSION, " and this is torch ", found,
                                ": build it again with `pip install --no-build-isolation .`"));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  check_torch();
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      PyErr_SetString(exception_of(error.kind), error.what());
    }
  });
  using Optional = std::optional<at::Tensor>;
  py::class_<EpilogueTensors>(m, "Epilogue",
                              "What is made of a product before it is rounded; shapes are checked by epilogue.py")
      .def(py::init([](double alpha, double beta, Optional c, Optional bias, const std::string& activation,
                       Optional residual, Optional scale_a, Optional scale_b, Optional scale_result) {
             return EpilogueTensors{alpha,    beta,    c,       bias,        activation_of(activation),
                                    residual, scale_a, scale_b, scale_result};
           }),
           py::arg("alpha"), py::arg("beta"), py::arg("c"), py::arg("bias"), py::arg("activation"), py::arg("residual"),
           py::arg("scale_a"), py::arg("scale_b"), py::arg("scale_result"));
  m.def("gemm", &gemm_torch,
        "id, a, b, out, raster (0: along M, 1: along N, 2: apart), group, max_ctas, exchanged (computes out.t() = b.t() @ "
        "a.t()), "
        "static_b (nothing that may still run writes b): out = a @ b on the current stream",
        py::arg("id"), py::arg("a"), py::arg("b"), py::arg("out"), py::arg("raster") = 0, py::arg("group") = 8,
        py::arg("max_ctas") = 0, py::arg("exchanged") = false, py::arg("slices") = 1, py::arg("epilogue") = nullptr,
        py::arg("static_b") = false);
  m.def("gemm_emulated", &gemm_emulated_torch, "The same on CPU tensors, in the emulator; returns its report", py::arg("id"),
        py::arg("a"), py::arg("b"), py::arg("out"), py::arg("raster") = 0, py::arg("group") = 8, py::arg("seed") = 0,
        py::arg("sm_count") = 4, py::arg("timed") = false, py::arg("trace") = false, py::arg("protocol_only") = false,
        py::arg("keep_findings") = false, py::arg("exchanged") = false, py::arg("slices") = 1, py::arg("epilogue") = nullptr,
        py::arg("static_b") = false);
  define_launches(m);
  using Method = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
  const auto method = [](Method function) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)); };
  static PyMethodDef is_plain_method{"is_plain", method(&is_plain), METH_FASTCALL,
                                     "Whether a product of these tensors needs nothing of torch's dispatcher"};
  static PyMethodDef is_recorded_method{"is_recorded", method(&is_recorded), METH_FASTCALL,
                                        "Whether it needs to be recorded for a backward, and nothing else"};
  for (PyMethodDef* each : {&is_plain_method, &is_recorded_method})
    m.attr(each->ml_name) = py::reinterpret_steal<py::object>(PyCFunction_New(each, nullptr));
  m.def(
      "copy", &copy_torch,
      "[(source, target, padded, split)], one or two: target = source in one launch on the current stream, for any strides; "
      "the target's rows are zeroed up to `padded` columns; split: 0, or 1 (left) or 2 (right operand of 3xTF32)",
      py::arg("copies"));
  m.def("copy_emulated", &copy_emulated_torch, "The same on CPU tensors, in the emulator; returns its report",
        py::arg("copies"), py::arg("seed") = 0, py::arg("sm_count") = 4, py::arg("keep_findings") = false);
  m.def("problem_error", &problem_error_torch, "Why a kernel cannot run a problem, '' if it can", py::arg("id"),
        py::arg("a"), py::arg("b"), py::arg("out"), py::arg("exchanged") = false, py::arg("epilogue") = nullptr);
  m.def("product", &product_torch,
        "A product of tensors as matrices: extents, and (batch, row, column) strides and whether the batch "
        "dimensions collapse to one, of each tensor and addend",
        py::arg("a"), py::arg("b"), py::arg("out"), py::arg("epilogue") = nullptr);
  m.def("launch_shape", &launch_shape_torch, "Grid, cluster, threads, shared memory, tiles and store path of a launch",
        py::arg("id"), py::arg("a"), py::arg("b"), py::arg("out"), py::arg("raster") = 0, py::arg("group") = 8,
        py::arg("max_ctas") = 0, py::arg("exchanged") = false, py::arg("slices") = 1, py::arg("epilogue") = nullptr);
  m.def("kernels", &kernel_list, "The kernels of this build as dicts");
  m.def(
      "config_error", [](const py::dict& fields) { return config_error(config_of(fields)); },
      "The rule a config breaks, with got, limit and what to do; '' if it is valid", py::arg("fields"));
  m.def(
      "device_info", [](int device) { return device_dict(device_info(device)); }, "What is known of a CUDA device",
      py::arg("device"));
  m.def(
      "kernel_resources", [](int id, int device) { return resources_dict(kernel_resources(id, device)); },
      "What the driver reports for a compiled kernel", py::arg("id"), py::arg("device") = 0);
  m.def("watchdog_report", &watchdog_report, "What a stuck wait reported (build option HG_WATCHDOG), '' if nothing");
  m.def("build_info", &build_info, "torch and CUDA versions built against, hash of the sources");
}

}  // namespace hopper_gemm
