// What the epilogue makes of the sums, chosen at run time:
//   out = round((activation(alpha * scale_a * scale_b * (A B) + beta * c + bias) + residual) * scale_result)
// in fp32 before the one rounding. EpilogueOptions is how a caller says it, EpilogueParams what a kernel reads.
#pragma once
#include <cstdint>

#include "hopper_gemm/core/types.h"

namespace hopper_gemm {

// An addend as large as the output: element (row, column) of matrix `batch` lies at data + batch * batch_stride +
// row * row_stride + column * column_stride, in elements. A stride of 0 repeats a matrix, a row, a column or one element.
// Without data nothing is added.
struct Addend {
  const void* data = nullptr;
  DataType type = DataType::f32;  // or bf16, f16
  int64_t row_stride = 0, column_stride = 0, batch_stride = 0;
};

// One float for each row (of A) or column (of B), `stride` elements apart; stride 0: one for all. Without data: 1.
struct Scale {
  const float* data = nullptr;
  int64_t stride = 0;
};

struct EpilogueOptions {
  float alpha = 1, beta = 0;
  Addend c, bias, residual;  // beta == 0: c is never read
  Activation activation = Activation::none;
  Scale scale_a, scale_b;
  const float* scale_result = nullptr;

  bool is_plain() const {
    return alpha == 1 && (beta == 0 || c.data == nullptr) && bias.data == nullptr && residual.data == nullptr &&
           activation == Activation::none && scale_a.data == nullptr && scale_b.data == nullptr && scale_result == nullptr;
  }
};

// The addends there are, in order: beta * c and bias before the activation, the residual after it.
struct EpilogueParams {
  static constexpr int kMostAddends = 3;

  bool plain = true;         // out = round(A B): nothing below is read
  bool column_bias = false;  // out = round(A B + bias): a 16-bit one, the same for all rows, in pairs, by a TMA store
  bool scaled = false;       // by alpha, scale_a or scale_b, or the sum is empty
  bool empty_sum = false;    // K = 0: the accumulators were never written
  bool scale_b_pairs = false;
  Activation activation = Activation::none;
  int addends = 0, addends_before_activation = 0;
  float alpha = 1;
  Scale scale_a, scale_b;
  Addend addend[kMostAddends];
  float factor[kMostAddends] = {};
  bool pairs[kMostAddends] = {};  // columns 2 i and 2 i + 1 of every row are adjacent and aligned as one
  const float* scale_result = nullptr;
};

}  // namespace hopper_gemm
