// Records a product for a backward: a node of autograd's graph that asks Python for the gradients (autograd.py).
#pragma once
#include <torch/csrc/utils/pybind.h>

#include <functional>

#include "arguments.h"

namespace hopper_gemm {

struct Recording {
  // formulas(alpha, beta, activation, grad, (a, b, bias, c, residual), out, needed): the gradients of the five, or None. None
  // itself where there are none.
  pybind11::object formulas = pybind11::none();
  bool keeps_out = false;  // whether they read the result, which is None otherwise
};

// What `run` returns, with the node behind it.
at::Tensor recorded(const Recording& recording, const Arguments& given, const std::function<at::Tensor()>& run);

}  // namespace hopper_gemm
