// torch tensors -> Problem, by torch.matmul's rules (product.h).
#pragma once
#include <ATen/core/Tensor.h>

#include "epilogue.h"

namespace hopper_gemm {

// The type in memory of an output or addend. Throws Error for a dtype that kernels neither read nor write.
DataType output_type(const at::Tensor& tensor, const char* name);
// Throws Error unless `tensor` lies beside `out` and holds its values as they are.
void check_place(const at::Tensor& tensor, const char* name, const at::Tensor& out);

// The operands as kernel `id` reads them: the kernel fixes each major, the tensors must be contiguous that way (a
// dimension of extent 1 is contiguous whatever its stride). `exchanged` reads the same product as out.t() = b.t() @ a.t().
// `epilogue` may be null. Throws Error if they are not.
Problem problem_of(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool exchanged,
                   const EpilogueTensors* epilogue);

// The copy of `source` to `target`, tensors of one shape; the target's rows are zeroed up to `padded` columns. `split`: 1 for
// the left, 2 for the right operand of a 3xTF32 product, whose two further segments lie behind the target's rows.
Copy copy_of(const at::Tensor& source, const at::Tensor& target, int64_t padded, int split);

}  // namespace hopper_gemm
