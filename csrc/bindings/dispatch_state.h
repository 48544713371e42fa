// Whether torch's dispatcher has work of its own to do around a product (gradients, a trace, a mode, autocast, vmap),
// or the kernel can be launched at once. One question for all tensors: about 0.1 us.
#pragma once
#include <torch/csrc/python_headers.h>

namespace hopper_gemm {

enum class Work { none, recording, more };  // recording: the call needs to be recorded for a backward, and nothing else

// Arguments that are no tensors are ignored: the checks behind name them.
Work work_of(PyObject* const* arguments, Py_ssize_t count);

// is_plain(*tensors) for Python: False if the call must go through torch.ops.hopper_gemm.
PyObject* is_plain(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

// is_recorded(*tensors): True if all the dispatcher would do is record the call for a backward.
PyObject* is_recorded(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

}  // namespace hopper_gemm
