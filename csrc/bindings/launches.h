// Products seen before: what a repeated call launches, found by the sizes, strides, types and devices of its tensors.
#pragma once
#include <torch/csrc/utils/pybind.h>

namespace hopper_gemm {

// Adds the class Launches to the module:
//   Launches(launch=None)         an empty memory; in tests `launch` stands in for gemm, and CPU tensors are the emulator's
//   remember(a, b, out, written, id, raster, group, max_ctas, exchanged, slices, static_b, epilogue, formulas, keeps_out)
//                                 `out` is what the caller gave (or None), `written` the tensor of that call; the last two
//                                 are those of a Recording (recording.h)
//   call(a, b, out, *epilogue)    the result, recorded for a backward if it must be, or None for a product that was not
//                                 remembered, that the dispatcher has other work for, or whose addresses need the checks of
//                                 the long way; the options as the fields of epilogue.py's Epilogue
//   clear(), len()
void define_launches(pybind11::module_& m);

}  // namespace hopper_gemm
