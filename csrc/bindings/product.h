// torch.matmul's rules as matrices: 1-D operands, broadcast batch dimensions, and how each tensor's matrices follow each
// other. Sizes and strides only; nothing is copied, allocated or launched.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "hopper_gemm.h"

namespace hopper_gemm {

// One tensor as `batches` matrices of the product. Strides in elements, 0 where an operand is shared.
struct Matrices {
  int64_t batch_stride = 0, row_stride = 0, column_stride = 0;
  bool regular = true;  // the batch dimensions collapse to one stride
};

// out[i] (m x n) = a[i] (m x k) @ b[i] (k x n) for i < batches. A batch whose b is shared and whose a, out and addends allow
// it is one product with all rows (`folded`).
struct Product {
  int64_t batches, m, n, k;
  Matrices a, b, out;
  bool folded = false;
  std::vector<Matrices> addends;  // of the epilogue, each as large as out

  Product exchanged() const;  // out.t() = b.t() @ a.t()
};

// Throws Error(value) if the shapes do not fit torch.matmul's rules. `addends` have out's shape (strides may be 0).
Product product_of(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
                   const std::vector<at::Tensor>& addends = {});

}  // namespace hopper_gemm
