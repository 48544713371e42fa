// Products seen before: what a repeated call launches, found by the sizes, strides, types and devices of its tensors.
#pragma once
#include <torch/csrc/utils/pybind.h>

namespace hopper_gemm {

// Adds the class Launches to the module:
//   Launches(launch=None)         an empty memory; `launch` stands in for gemm in tests
//   remember(a, b, out, written, id, raster, group, max_ctas, exchanged, slices, static_b)
//                                 `out` is what the caller gave (or None), `written` the tensor of that call
//   call(a, b, out)               the result, or None for a product that was not remembered, that the dispatcher has work
//                                 for, or whose addresses need the checks of the long way
//   clear(), len()
void define_launches(pybind11::module_& m);

}  // namespace hopper_gemm
