// Broadcasting becomes strides of 0. Python has checked the shapes before; here torch's own expand() is the last word.
#include "epilogue.h"

#include "tensors.h"
#include "text.h"

namespace hopper_gemm {
namespace {

using Kind = Error::Kind;

// `dim` of out is the one that a scale may vary along.
Scale scale_of(const std::optional<at::Tensor>& given, const char* name, const at::Tensor& out, int dim) {
  if (!given) return {};
  check_place(*given, name, out);
  if (given->scalar_type() != at::kFloat)
    throw Error(Kind::type, text(name, " is ", given->scalar_type(), ", expected float32"));
  if (given->numel() == 1) return {.data = given->const_data_ptr<float>(), .stride = 0};
  if (out.dim() != 2 || given->numel() != out.size(dim) || given->dim() != 2 || given->size(dim) != out.size(dim))
    throw Error(Kind::value,
                text(name, " has shape ", given->sizes(),
                     ", expected one element or, for two matrices, one for each index of dimension ", dim, " of out"));
  return {.data = given->const_data_ptr<float>(), .stride = given->stride(dim)};
}

}  // namespace

Activation activation_of(const std::string& name) {
  for (int i = 0; i < kActivations; ++i)
    if (name == name_of(static_cast<Activation>(i))) return static_cast<Activation>(i);
  throw Error(Kind::value, text("activation '", name, "' does not exist"));
}

std::vector<at::Tensor> addends_of(const EpilogueTensors* given, const at::Tensor& out) {
  std::vector<at::Tensor> addends;
  if (given == nullptr) return addends;
  const auto add = [&](const std::optional<at::Tensor>& tensor, const char* name) {
    if (!tensor) return;
    check_place(*tensor, name, out);
    addends.push_back(tensor->expand_as(out));
  };
  add(given->read_c(), "c");
  add(given->bias, "bias");
  add(given->residual, "residual");
  return addends;
}

EpilogueOptions options_of(const EpilogueTensors& given, const Product& product, const at::Tensor& out, bool exchanged) {
  size_t next = 0;
  const auto addend = [&](const std::optional<at::Tensor>& tensor, const char* name) -> Addend {
    if (!tensor) return {};
    const Matrices& lies = product.addends.at(next++);
    if (!lies.regular)
      throw Error(Kind::value,
                  text("the batch dimensions of ", name, " do not follow each other at one stride, as a launch needs"));
    return {tensor->const_data_ptr(), output_type(*tensor, name), lies.row_stride, lies.column_stride, lies.batch_stride};
  };
  EpilogueOptions options{.alpha = static_cast<float>(given.alpha),
                          .beta = static_cast<float>(given.beta),
                          .c = addend(given.read_c(), "c"),
                          .bias = addend(given.bias, "bias"),
                          .residual = addend(given.residual, "residual"),
                          .activation = given.activation,
                          .scale_a = scale_of(given.scale_a, "scale_a", out, 0),
                          .scale_b = scale_of(given.scale_b, "scale_b", out, 1),
                          .scale_result = scale_of(given.scale_result, "scale_result", out, 0).data};
  if (exchanged) std::swap(options.scale_a, options.scale_b);
  return options;
}

}  // namespace hopper_gemm
