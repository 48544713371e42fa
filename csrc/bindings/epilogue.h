// The options of an epilogue as torch tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "product.h"

namespace hopper_gemm {

// out = round((activation(alpha * scale_a * scale_b * (a @ b) + beta * c + bias) + residual) * scale_result).
// `c`, `bias` and `residual` broadcast to out's shape; the scales are float32.
struct EpilogueTensors {
  double alpha = 1, beta = 0;
  std::optional<at::Tensor> c, bias;
  Activation activation = Activation::none;
  std::optional<at::Tensor> residual, scale_a, scale_b, scale_result;

  // With beta = 0 c is not read, so that a NaN in it does not matter.
  std::optional<at::Tensor> read_c() const { return beta == 0 ? std::nullopt : c; }
};

Activation activation_of(const std::string& name);

// The addends given, in the order c, bias, residual, broadcast to out. `epilogue` may be null.
std::vector<at::Tensor> addends_of(const EpilogueTensors* epilogue, const at::Tensor& out);

// For the kernel that computes `product` of which addends_of are the addends, exchanged or not.
EpilogueOptions options_of(const EpilogueTensors& epilogue, const Product& product, const at::Tensor& out, bool exchanged);

}  // namespace hopper_gemm
