// torch's own C++ function does what Python's torch.autograd.Function does (hooks, versions, second derivatives) without
// its cost in the forward.
#include "recording.h"

#include <c10/core/SafePyObject.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/PyInterpreter.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/python_variable.h>

#include "text.h"

namespace hopper_gemm {
namespace {

namespace py = pybind11;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The options of a call for its backward. It may be forgotten by a thread without Python's lock.
struct Options : torch::CustomClassHolder {
  Options(py::object formulas, double alpha, double beta, Activation activation)
      : formulas(formulas.release().ptr(), getPyInterpreter()), alpha(alpha), beta(beta), activation(activation) {}

  c10::SafePyObject formulas;
  double alpha, beta;
  Activation activation;
};

constexpr size_t kOperands = 5;  // a, b, bias, c, residual

py::object object_of(const at::Tensor& tensor) {
  return tensor.defined() ? py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor)) : py::none();
}

struct RecordedProduct : torch::autograd::Function<RecordedProduct> {
  using Given = std::optional<at::Tensor>;

  static at::Tensor forward(AutogradContext* context, const at::Tensor& a, const at::Tensor& b, const Given& bias,
                            const Given& c, const Given& residual, const c10::intrusive_ptr<Options>& options,
                            bool keeps_out, const std::function<at::Tensor()>& run) {
    const at::Tensor out = run();
    context->saved_data["options"] = c10::IValue::make_capsule(options);
    context->set_materialize_grads(false);
    context->save_for_backward({a, b, bias.value_or(at::Tensor()), c.value_or(at::Tensor()), residual.value_or(at::Tensor()),
                                keeps_out ? out : at::Tensor()});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    variable_list found(kOperands + 3);  // and none of what is no tensor
    if (!grads[0].defined()) return found;
    const variable_list saved = context->get_saved_variables();
    const auto capsule = context->saved_data["options"].toCapsule();
    const auto& options = static_cast<const Options&>(*capsule);
    const py::gil_scoped_acquire held;
    py::tuple operands(kOperands), needed(kOperands);
    size_t edge = 0;  // operands that were not given have none
    for (size_t i = 0; i < kOperands; ++i) {
      operands[i] = object_of(saved[i]);
      needed[i] = py::bool_(saved[i].defined() && context->needs_input_grad(edge++));
    }
    const py::object activation =
        options.activation == Activation::none ? py::object(py::none()) : py::str(name_of(options.activation));
    PyObject* const result =
        PyObject_CallFunctionObjArgs(options.formulas.ptr(getPyInterpreter()), py::float_(options.alpha).ptr(),
                                     py::float_(options.beta).ptr(), activation.ptr(), object_of(grads[0]).ptr(),
                                     operands.ptr(), object_of(saved[kOperands]).ptr(), needed.ptr(), nullptr);
    if (result == nullptr) {  // as a function of Python's: torch carries the exception to the caller of backward()
      python_error error;
      error.persist();
      throw error;
    }
    const auto gradients = py::reinterpret_steal<py::tuple>(result);
    for (size_t i = 0; i < kOperands; ++i)
      if (!gradients[i].is_none()) found[i] = THPVariable_Unpack(gradients[i].ptr());
    return found;
  }
};

}  // namespace

at::Tensor recorded(const Recording& recording, const Arguments& given, const std::function<at::Tensor()>& run) {
  const auto operand = [&](Arguments::Place place) {
    return given.tensors[place] == nullptr ? RecordedProduct::Given{} : *given.tensors[place];
  };
  return RecordedProduct::apply(*given.tensors[Arguments::a], *given.tensors[Arguments::b], operand(Arguments::bias),
                                operand(Arguments::c), operand(Arguments::residual),
                                c10::make_intrusive<Options>(recording.formulas, given.alpha, given.beta, given.activation),
                                recording.keeps_out, run);
}

}  // namespace hopper_gemm
