// Asks what the dispatcher would ask: the key sets of the tensors, and the keys this thread includes and excludes.
#include "dispatch_state.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

namespace hopper_gemm {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// Keys under which the kernel may be launched directly: memory of some layout, the autograd keys that every tensor
// carries (whether they matter is asked below), a vmap that is on but not of these tensors, and the views that the kernel's own checks refuse with a sentence.
constexpr DispatchKeySet kOrdinary =
    DispatchKeySet({DispatchKey::Dense, DispatchKey::Sparse, DispatchKey::SparseCsr, DispatchKey::Quantized,
                    DispatchKey::NestedTensor, DispatchKey::MkldnnCPU, DispatchKey::BackendSelect,
                    DispatchKey::ADInplaceOrView, DispatchKey::Negative, DispatchKey::Conjugate, DispatchKey::ZeroTensor,
                    DispatchKey::VmapMode}) |
    c10::autograd_dispatch_keyset;

// Functionality bits lie above the backend bits.
bool has_more_than(DispatchKeySet keys, DispatchKeySet ordinary) {
  return ((keys - ordinary).raw_repr() & ~uint64_t{c10::full_backend_mask}) != 0;
}

}  // namespace

Work work_of(PyObject* const* arguments, Py_ssize_t count) {
  const c10::impl::LocalDispatchKeySet local = c10::impl::tls_local_dispatch_key_set();
  const bool grad_mode = c10::GradMode::is_enabled();
  const bool below_autograd = local.excluded_.has_any(c10::autograd_dispatch_keyset);
  Work work = Work::none;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const argument = arguments[i];
    if (argument == Py_None) continue;
    if (!THPVariable_CheckExact(argument)) {
      if (!THPVariable_Check(argument)) continue;
      return Work::more;  // a subclass: torch asks its __torch_function__ or __torch_dispatch__
    }
    const at::Tensor& tensor = THPVariable_Unpack(argument);
    if (has_more_than((tensor.key_set() | local.included_) - local.excluded_, kOrdinary) || tensor.is_meta())
      return Work::more;
    if (below_autograd) continue;
    if (tensor._fw_grad(0).defined()) return Work::more;
    if (grad_mode && tensor.requires_grad()) work = Work::recording;
  }
  return work;
}

PyObject* is_plain(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  return PyBool_FromLong(work_of(arguments, count) == Work::none);
  END_HANDLE_TH_ERRORS
}

PyObject* is_recorded(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  return PyBool_FromLong(work_of(arguments, count) == Work::recording);
  END_HANDLE_TH_ERRORS
}

}  // namespace hopper_gemm
