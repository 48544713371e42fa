// torch tensors -> Problem, by torch.matmul's rules (product.h).
#pragma once
#include <ATen/core/Tensor.h>

#include "hopper_gemm.h"

namespace hopper_gemm {

// The operands as kernel `id` reads them: the kernel fixes each major, the tensors must be contiguous that way (a
// dimension of extent 1 is contiguous whatever its stride). `exchanged` reads the same product as out.t() = b.t() @ a.t().
// Throws Error if they are not.
Problem problem_of(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool exchanged);

// The copy of `source` to `target`, tensors of one shape; the target's rows are zeroed up to `padded` columns.
Copy copy_of(const at::Tensor& source, const at::Tensor& target, int64_t padded);

}  // namespace hopper_gemm
