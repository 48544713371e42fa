// One lookup and one launch: no Python, no checks that the sizes and strides have passed before. Addresses are new in every
// call, so their alignment and overlap are looked at every time; where they are unusual the caller goes the long way.
#include "launches.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstring>
#include <unordered_map>

#include "dispatch_state.h"
#include "launching.h"
#include "tensors.h"

namespace hopper_gemm {
namespace {

namespace py = pybind11;

constexpr int kMaxDims = 6;
constexpr size_t kMaxLaunches = 4096;

// What a launch depends on, but for addresses, as words; tensors of more dimensions are not remembered.
struct Key {
  int64_t words[3 * (1 + 2 * kMaxDims)];
  int count = 0;

  bool add(const at::Tensor* tensor) {
    if (tensor == nullptr) return words[count++] = -1, true;
    const int64_t dims = tensor->dim();
    if (dims > kMaxDims) return false;
    const auto device = tensor->device();
    words[count++] = dims | int64_t{static_cast<uint8_t>(tensor->scalar_type())} << 8 |
                     int64_t{static_cast<uint8_t>(device.type())} << 16 |
                     int64_t{static_cast<uint8_t>(device.index())} << 24;
    const auto sizes = tensor->sizes(), strides = tensor->strides();
    for (int64_t d = 0; d < dims; ++d) words[count++] = sizes[d], words[count++] = strides[d];
    return true;
  }
  bool operator==(const Key& other) const {
    return count == other.count && std::memcmp(words, other.words, count * sizeof(words[0])) == 0;
  }
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0;
    for (int i = 0; i < key.count; ++i) h = (h ^ static_cast<uint64_t>(key.words[i])) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
    return h;
  }
};

struct Launch {
  int id;
  Problem problem;  // its addresses are those of the first call
  LaunchOptions options;
  bool exchanged;
  c10::DimVector out_sizes;
  at::ScalarType out_type;
  uintptr_t a_bytes, b_bytes, out_bytes;
};

// As torch's own factory for a contiguous tensor, without the dispatcher around it, which is_plain has asked.
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

bool apart(uintptr_t a, uintptr_t a_bytes, uintptr_t b, uintptr_t b_bytes) { return a + a_bytes <= b || b + b_bytes <= a; }

const at::Tensor* tensor_or_null(PyObject* object) { return object == Py_None ? nullptr : &THPVariable_Unpack(object); }

class Launches {
 public:
  explicit Launches(py::object stand_in) : stand_in_(std::move(stand_in)) {}

  // The result as a new reference; null without a Python error if the long way has to be taken.
  PyObject* call(PyObject* const* arguments) {
    if (!needs_no_dispatcher(arguments, 3)) return nullptr;
    if (!THPVariable_Check(arguments[0]) || !THPVariable_Check(arguments[1])) return nullptr;
    if (arguments[2] != Py_None && !THPVariable_Check(arguments[2])) return nullptr;
    const at::Tensor &a = THPVariable_Unpack(arguments[0]), &b = THPVariable_Unpack(arguments[1]);
    const at::Tensor* given = tensor_or_null(arguments[2]);
    Key key;
    if (!is_ordinary(a) || !is_ordinary(b) || (given && !is_ordinary(*given))) return nullptr;
    if (!key.add(&a) || !key.add(&b) || !key.add(given)) return nullptr;
    const auto found = known_.find(key);
    if (found == known_.end()) return nullptr;
    const Launch& launch = found->second;
    const auto a_address = reinterpret_cast<uintptr_t>(a.const_data_ptr()),
               b_address = reinterpret_cast<uintptr_t>(b.const_data_ptr());
    if (((a_address | b_address) & 15) != 0 || a_address == 0 || b_address == 0) return nullptr;
    if (given == nullptr) {
      const at::Tensor out = empty(launch, a.device());
      run(launch, a, b, out);
      return THPVariable_Wrap(out);
    }
    const auto out_address = reinterpret_cast<uintptr_t>(given->data_ptr());
    if (out_address == 0 || !apart(out_address, launch.out_bytes, a_address, launch.a_bytes) ||
        !apart(out_address, launch.out_bytes, b_address, launch.b_bytes))
      return nullptr;
    run(launch, a, b, *given);
    if (!given->is_inference()) given->unsafeGetTensorImpl()->bump_version();  // as torch's own out= does
    Py_INCREF(arguments[2]);
    return arguments[2];
  }

  void remember(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& out, const at::Tensor& written,
                int id, int raster, int group, int max_ctas, bool exchanged, int slices, bool static_b) {
    Key key;
    if (!key.add(&a) || !key.add(&b) || !key.add(out ? &*out : nullptr)) return;
    if (known_.size() >= kMaxLaunches) known_.clear();
    const Launch launch = {id,
                           problem_of(id, a, b, written, exchanged, nullptr),
                           options_of(raster, group, max_ctas, slices, static_b, exchanged),
                           exchanged,
                           c10::DimVector(written.sizes()),
                           written.scalar_type(),
                           span_bytes(a),
                           span_bytes(b),
                           span_bytes(written)};
    known_.insert_or_assign(key, launch);
  }

  void clear() { known_.clear(); }
  size_t size() const { return known_.size(); }

 private:
  // Its elements are what lies at its strides: not sparse, and not the negatives of that (a view's negative bit).
  static bool is_ordinary(const at::Tensor& tensor) { return tensor.layout() == c10::kStrided && !tensor.is_neg(); }

  void run(const Launch& launch, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
    if (!stand_in_.is_none()) {
      stand_in_(launch.id, a, b, out, static_cast<int>(launch.options.raster), launch.options.group, launch.options.max_ctas,
                launch.exchanged, launch.options.slices, nullptr, launch.options.static_operand != StaticOperand::none);
      return;
    }
    Problem problem = launch.problem;
    problem.a = (launch.exchanged ? b : a).const_data_ptr();
    problem.b = (launch.exchanged ? a : b).const_data_ptr();
    problem.out = out.data_ptr();
    launch_on_stream(launch.id, problem, launch.options, a.device());
  }

  std::unordered_map<Key, Launch, KeyHash> known_;
  py::object stand_in_;
};

PyObject* call(PyObject* capsule, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  if (count != 3) {
    PyErr_SetString(PyExc_TypeError, "Launches.call takes a, b and out");
    return nullptr;
  }
  try {
    if (PyObject* result = static_cast<Launches*>(PyCapsule_GetPointer(capsule, nullptr))->call(arguments)) return result;
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
                            "(a, b, out): the result of a product seen before, or None"};
  py::class_<Launches, std::shared_ptr<Launches>>(m, "Launches",
                                                  "Products seen before, by sizes, strides, types and devices")
      .def(py::init<py::object>(), py::arg("launch") = py::none())
      .def("remember", &Launches::remember, py::arg("a"), py::arg("b"), py::arg("out"), py::arg("written"), py::arg("id"),
           py::arg("raster"), py::arg("group"), py::arg("max_ctas"), py::arg("exchanged"), py::arg("slices"),
           py::arg("static_b") = false)
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
