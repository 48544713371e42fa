// Reads Python's own numbers, strings and tensors; whatever else is given, the long way says what is wrong with it.
#include "arguments.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <string_view>

#include "text.h"

namespace hopper_gemm {
namespace {

constexpr Py_ssize_t kAlpha = 3, kBeta = 4, kActivation = 7;
// Of a tensor among the arguments.
constexpr Py_ssize_t kPosition[Arguments::kTensors] = {0, 1, 2, 5, 6, 8, 9, 10, 11};

bool read_number(PyObject* given, double& number) {
  if (PyFloat_CheckExact(given)) return number = PyFloat_AS_DOUBLE(given), true;
  if (!PyLong_CheckExact(given)) return false;
  number = PyLong_AsDouble(given);
  if (number != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

bool read_activation(PyObject* given, Activation& activation) {
  if (given == Py_None) return true;
  if (!PyUnicode_CheckExact(given)) return false;
  for (int i = 1; i < kActivations; ++i) {
    activation = static_cast<Activation>(i);
    if (PyUnicode_CompareWithASCIIString(given, name_of(activation)) == 0) return true;
  }
  return false;
}

}  // namespace

bool Arguments::read(PyObject* const* given, Py_ssize_t count) {
  for (int place = 0; place < kTensors; ++place) {
    objects[place] = kPosition[place] < count ? given[kPosition[place]] : Py_None;
    if (objects[place] == Py_None) continue;
    if (!THPVariable_CheckExact(objects[place]) && !THPVariable_Check(objects[place])) return false;
    tensors[place] = &THPVariable_Unpack(objects[place]);
  }
  return tensors[a] != nullptr && tensors[b] != nullptr && (count <= kAlpha || read_number(given[kAlpha], alpha)) &&
         (count <= kBeta || read_number(given[kBeta], beta)) &&
         (count <= kActivation || read_activation(given[kActivation], activation));
}

bool Arguments::is_plain() const {
  return alpha == 1 && beta == 0 && activation == Activation::none &&
         std::all_of(tensors + c, tensors + kTensors, [](const at::Tensor* tensor) { return tensor == nullptr; });
}

Arguments arguments_of(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& out,
                       const EpilogueTensors* epilogue) {
  const auto address = [](const std::optional<at::Tensor>& tensor) { return tensor ? &*tensor : nullptr; };
  Arguments given;
  given.tensors[Arguments::a] = &a;
  given.tensors[Arguments::b] = &b;
  given.tensors[Arguments::out] = address(out);
  if (epilogue == nullptr) return given;
  given.alpha = epilogue->alpha;
  given.beta = epilogue->beta;
  given.activation = epilogue->activation;
  const std::optional<at::Tensor>* added[] = {&epilogue->c,       &epilogue->bias,    &epilogue->residual,
                                              &epilogue->scale_a, &epilogue->scale_b, &epilogue->scale_result};
  for (int place = Arguments::c; place < Arguments::kTensors; ++place)
    given.tensors[place] = address(*added[place - Arguments::c]);
  return given;
}

EpilogueTensors epilogue_of(const Arguments& given) {
  const auto tensor = [&](Arguments::Place place) {
    return given.tensors[place] == nullptr ? std::optional<at::Tensor>{} : *given.tensors[place];
  };
  return {given.alpha,
          given.beta,
          tensor(Arguments::c),
          tensor(Arguments::bias),
          given.activation,
          tensor(Arguments::residual),
          tensor(Arguments::scale_a),
          tensor(Arguments::scale_b),
          tensor(Arguments::scale_result)};
}

}  // namespace hopper_gemm
