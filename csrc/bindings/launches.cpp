// One lookup and one launch: no Python, no checks that the sizes and strides have passed before. Addresses are new in every
// call, so their alignment and overlap are looked at every time; where they are unusual the caller goes the long way.
#include "launches.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <unordered_map>

#include "arguments.h"
#include "dispatch_state.h"
#include "launch_key.h"
#include "launching.h"
#include "recording.h"
#include "tensors.h"

namespace hopper_gemm {
namespace {

namespace py = pybind11;

constexpr size_t kMaxLaunches = 4096;

struct Launch {
  int id;
  Problem problem;  // its addresses are those of the first call
  LaunchOptions options;
  bool exchanged;
  c10::DimVector out_sizes;
  at::ScalarType out_type;
  uintptr_t bytes[Arguments::kTensors] = {};  // from the first element of a tensor that is read or written to its last
  bool may_be_out[Arguments::kTensors] = {};  // an addend that lies like out
  Recording recording;
};

// As torch's own factory for a contiguous tensor, without the dispatcher around it, which work_of has asked.
at::Tensor empty(const Launch& launch, c10::Device device) {
  const c10::DeviceGuard guard(device);
  const c10::DispatchKeySet keys(device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
  return at::detail::empty_generic(launch.out_sizes, c10::GetAllocator(device.type()), keys, launch.out_type, std::nullopt);
}

uintptr_t span_bytes(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  return static_cast<uintptr_t>((last + 1) * tensor.element_size());
}

bool lies_like(const at::Tensor& tensor, const at::Tensor& other) {
  return tensor.sizes() == other.sizes() && tensor.strides() == other.strides() &&
         tensor.scalar_type() == other.scalar_type();
}

bool apart(uintptr_t a, uintptr_t a_bytes, uintptr_t b, uintptr_t b_bytes) { return a + a_bytes <= b || b + b_bytes <= a; }

uintptr_t address_of(const at::Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()); }

// Whether the memory is as a launch needs it: a and b aligned, out apart from all that is read but for an addend that it is.
bool is_usual(const Launch& launch, const Arguments& given) {
  if ((address_of(*given.tensors[Arguments::a]) | address_of(*given.tensors[Arguments::b])) & 15) return false;
  const at::Tensor* out = given.tensors[Arguments::out];
  const uintptr_t out_address = out == nullptr ? 0 : address_of(*out);
  if (out != nullptr && out_address == 0) return false;
  for (int place = 0; place < Arguments::kTensors; ++place) {
    if (place == Arguments::out || launch.bytes[place] == 0) continue;
    const uintptr_t address = address_of(*given.tensors[place]);
    if (address == 0) return false;
    if (out != nullptr && !(launch.may_be_out[place] && address == out_address) &&
        !apart(out_address, launch.bytes[Arguments::out], address, launch.bytes[place]))
      return false;
  }
  return true;
}

// The remembered problem on the tensors of this call.
Problem problem_on(const Launch& launch, const Arguments& given, const at::Tensor& out) {
  Problem problem = launch.problem;
  const auto set = [&](auto& data, Arguments::Place place) {
    if (data != nullptr) data = static_cast<std::remove_reference_t<decltype(data)>>(given.tensors[place]->const_data_ptr());
  };
  set(problem.a, launch.exchanged ? Arguments::b : Arguments::a);
  set(problem.b, launch.exchanged ? Arguments::a : Arguments::b);
  problem.out = out.data_ptr();
  EpilogueOptions& epilogue = problem.epilogue;
  epilogue.alpha = static_cast<float>(given.alpha);
  epilogue.beta = static_cast<float>(given.beta);
  set(epilogue.c.data, Arguments::c);
  set(epilogue.bias.data, Arguments::bias);
  set(epilogue.residual.data, Arguments::residual);
  set(epilogue.scale_a.data, launch.exchanged ? Arguments::scale_b : Arguments::scale_a);
  set(epilogue.scale_b.data, launch.exchanged ? Arguments::scale_a : Arguments::scale_b);
  set(epilogue.scale_result, Arguments::scale_result);
  return problem;
}

class Launches {
 public:
  explicit Launches(py::object stand_in) : stand_in_(std::move(stand_in)) {}

  // The result as a new reference; null without a Python error if the long way has to be taken.
  PyObject* call(PyObject* const* arguments, Py_ssize_t count) {
    Arguments given;
    if (!given.read(arguments, count)) return nullptr;
    const Work work = work_of(given.objects, Arguments::kTensors);
    LaunchKey key;
    if (work == Work::more || !key.read(given)) return nullptr;
    const auto found = known_.find(key);
    if (found == known_.end() || !is_usual(found->second, given)) return nullptr;
    const Launch& launch = found->second;
    const at::Tensor* out = given.tensors[Arguments::out];
    const auto fresh = [&] {
      const at::Tensor result = empty(launch, given.tensors[Arguments::a]->device());
      run(launch, given, result);
      return result;
    };
    if (work == Work::recording) {
      if (out != nullptr || launch.recording.formulas.is_none()) return nullptr;
      return THPVariable_Wrap(recorded(launch.recording, given, fresh));
    }
    if (out == nullptr) return THPVariable_Wrap(fresh());
    run(launch, given, *out);
    if (!out->is_inference()) out->unsafeGetTensorImpl()->bump_version();  // as torch's own out= does
    Py_INCREF(given.objects[Arguments::out]);
    return given.objects[Arguments::out];
  }

  void remember(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& out, const at::Tensor& written,
                int id, int raster, int group, int max_ctas, bool exchanged, int slices, bool static_b,
                const EpilogueTensors* epilogue, py::object formulas, bool keeps_out) {
    const Arguments given = arguments_of(a, b, out, epilogue);
    LaunchKey key;
    if (!key.read(given)) return;
    Launch launch = {.id = id,
                     .problem = problem_of(id, a, b, written, exchanged, epilogue),
                     .options = options_of(raster, group, max_ctas, slices, static_b, exchanged),
                     .exchanged = exchanged,
                     .out_sizes = c10::DimVector(written.sizes()),
                     .out_type = written.scalar_type(),
                     .recording = {std::move(formulas), keeps_out}};
    for (const auto place : Arguments::kPlaces) {
      const at::Tensor* tensor = place == Arguments::out ? &written : given.tensors[place];
      if (tensor == nullptr || !given.is_read(place)) continue;
      launch.bytes[place] = span_bytes(*tensor);
      launch.may_be_out[place] = (place == Arguments::c || place == Arguments::residual) && lies_like(*tensor, written);
    }
    if (known_.size() >= kMaxLaunches) known_.clear();
    known_.insert_or_assign(std::move(key), std::move(launch));
  }

  void clear() { known_.clear(); }
  size_t size() const { return known_.size(); }

 private:
  void run(const Launch& launch, const Arguments& given, const at::Tensor& out) {
    const at::Tensor &a = *given.tensors[Arguments::a], &b = *given.tensors[Arguments::b];
    if (stand_in_.is_none()) {
      const Problem problem = problem_on(launch, given, out);
      return a.is_cpu() ? emulate(launch.id, problem, launch.options)
                        : launch_on_stream(launch.id, problem, launch.options, a.device());
    }
    const py::object epilogue = given.is_plain() ? py::object(py::none()) : py::cast(epilogue_of(given));
    stand_in_(launch.id, a, b, out, static_cast<int>(launch.options.raster), launch.options.group, launch.options.max_ctas,
              launch.exchanged, launch.options.slices, epilogue, launch.options.static_operand != StaticOperand::none);
  }

  std::unordered_map<LaunchKey, Launch, LaunchKey::Hash> known_;
  py::object stand_in_;
};

PyObject* call(PyObject* capsule, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  if (count < 3 || count > 12) {
    PyErr_SetString(PyExc_TypeError, "Launches.call takes a, b, out and the fields of an Epilogue");
    return nullptr;
  }
  try {
    if (PyObject* result = static_cast<Launches*>(PyCapsule_GetPointer(capsule, nullptr))->call(arguments, count))
      return result;
  } catch (const Error& error) {
    PyErr_SetString(exception_of(error.kind), error.what());
    return nullptr;
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

}  // namespace

void define_launches(py::module_& m) {
  static PyMethodDef method{"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)), METH_FASTCALL,
                            "(a, b, out, *epilogue): the result of a product seen before, or None"};
  py::class_<Launches, std::shared_ptr<Launches>>(m, "Launches",
                                                  "Products seen before, by sizes, strides, types and devices")
      .def(py::init<py::object>(), py::arg("launch") = py::none())
      .def("remember", &Launches::remember, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("written"), py::arg("id"),
           py::arg("raster"), py::arg("group"), py::arg("max_ctas"), py::arg("exchanged"), py::arg("slices"),
           py::arg("static_b") = false, py::arg("epilogue") = nullptr, py::arg("formulas") = py::none(),
           py::arg("keeps_out") = false)
      .def("clear", &Launches::clear)
      .def("__len__", &Launches::size)
      .def_property_readonly("call", [](const std::shared_ptr<Launches>& self) {
        // The function holds a capsule that holds the memory.
        PyObject* capsule = PyCapsule_New(self.get(), nullptr, [](PyObject* dying) {
          delete static_cast<std::shared_ptr<Launches>*>(PyCapsule_GetContext(dying));
        });
        PyCapsule_SetContext(capsule, new std::shared_ptr<Launches>(self));
        py::object function = py::reinterpret_steal<py::object>(PyCFunction_New(&method, capsule));
        Py_DECREF(capsule);
        return function;
      });
}

}  // namespace hopper_gemm
