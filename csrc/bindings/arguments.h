// The arguments of a call that may have been seen before, as Python hands them over.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/python_headers.h>

#include "epilogue.h"

namespace hopper_gemm {

struct Arguments {
  enum Place { a, b, out, c, bias, residual, scale_a, scale_b, scale_result, kTensors };
  static constexpr Place kPlaces[] = {a, b, out, c, bias, residual, scale_a, scale_b, scale_result};

  const at::Tensor* tensors[kTensors] = {};  // null: not given
  PyObject* objects[kTensors];               // the same for Python, Py_None if not given
  double alpha = 1, beta = 0;
  Activation activation = Activation::none;

  // a, b, out and then the fields of an Epilogue (epilogue.py) in their order, of which the last may be missing. False:
  // something that the long way has to look at.
  bool read(PyObject* const* given, Py_ssize_t count);

  // Whether nothing is made of the product before it is rounded.
  bool is_plain() const;
  // With beta = 0 c is not read.
  bool is_read(Place place) const { return tensors[place] != nullptr && !(place == c && beta == 0); }
};

// The same from a call that was checked.
Arguments arguments_of(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& out,
                       const EpilogueTensors* epilogue);
EpilogueTensors epilogue_of(const Arguments& given);

}  // namespace hopper_gemm
