// EpilogueOptions -> EpilogueParams: what is not added or multiplied is not listed, so that a kernel never reads it.
#include "epilogue.h"

#include "text.h"

namespace hopper_gemm {
namespace {

using Kind = Error::Kind;

std::optional<Error> check_addend(const char* name, const Addend& addend) {
  if (addend.data == nullptr) return {};
  if (addend.type != DataType::f32 && addend.type != DataType::bf16 && addend.type != DataType::f16)
    return Error(Kind::type, text(name, " is ", name_of(addend.type), ": addends are f32, bf16 or f16"));
  const int bytes = element_bytes(addend.type);
  if (reinterpret_cast<uintptr_t>(addend.data) % bytes)
    return Error(Kind::value, text(name, " is not aligned to its elements of ", bytes, " bytes"));
  if (addend.row_stride < 0 || addend.column_stride < 0)
    return Error(Kind::value, text(name, " has strides (", addend.row_stride, ", ", addend.column_stride,
                                   "): they must not be negative"));
  return {};
}

std::optional<Error> check_scale(const char* name, const float* data, int64_t stride) {
  if (reinterpret_cast<uintptr_t>(data) % sizeof(float))
    return Error(Kind::value, text(name, " is not aligned to its floats"));
  if (stride < 0) return Error(Kind::value, text(name, " has a stride of ", stride, ": it must not be negative"));
  return {};
}

bool are_pairs(const void* data, int bytes) { return reinterpret_cast<uintptr_t>(data) % (2 * bytes) == 0; }

}  // namespace

std::optional<Error> check_epilogue(const KernelConfig& config, const Problem& problem) {
  const EpilogueOptions& e = problem.epilogue;
  if (e.is_plain()) return {};
  if (config.accumulator == DataType::s32)
    return Error(Kind::not_implemented, "integer sums are stored as they are: epilogue options are for floating-point sums");
  if (!config.takes_options())
    return Error(Kind::value,
                 "the kernel is an ablation without epilogue options: choose the one whose name lacks _unfused");
  if (static_cast<int>(e.activation) < 0 || static_cast<int>(e.activation) >= kActivations)
    return Error(Kind::value,
                 text("activation ", static_cast<int>(e.activation), " does not exist: there are ", kActivations));
  if (auto error = check_addend("c", e.c)) return error;
  if (auto error = check_addend("bias", e.bias)) return error;
  if (auto error = check_addend("residual", e.residual)) return error;
  if (auto error = check_scale("scale_a", e.scale_a.data, e.scale_a.stride)) return error;
  if (auto error = check_scale("scale_b", e.scale_b.data, e.scale_b.stride)) return error;
  return check_scale("scale_result", e.scale_result, 0);
}

EpilogueParams epilogue_params(const Problem& problem) {
  const EpilogueOptions& e = problem.epilogue;
  EpilogueParams params = {
      .plain = e.is_plain(),
      .scaled = e.alpha != 1 || e.scale_a.data != nullptr || e.scale_b.data != nullptr || problem.k == 0,
      .empty_sum = problem.k == 0,
      .scale_b_pairs = e.scale_b.stride == 1 && are_pairs(e.scale_b.data, sizeof(float)),
      .activation = e.activation,
      .alpha = e.alpha,
      .scale_a = e.scale_a,
      .scale_b = e.scale_b,
      .scale_result = e.scale_result};
  const auto add = [&](const Addend& addend, float factor) {
    if (addend.data == nullptr || factor == 0) return;
    const bool even = addend.row_stride % 2 == 0 && (problem.batches == 1 || addend.batch_stride % 2 == 0);
    params.pairs[params.addends] = addend.column_stride == 1 && even && are_pairs(addend.data, element_bytes(addend.type));
    params.factor[params.addends] = factor;
    params.addend[params.addends++] = addend;
  };
  add(e.c, e.beta);
  add(e.bias, 1);
  params.addends_before_activation = params.addends;
  add(e.residual, 1);
  const bool is_alone =
      params.addends == 1 && e.activation == Activation::none && !params.scaled && e.scale_result == nullptr;
  params.column_bias = is_alone && params.factor[0] == 1 && params.addend[0].row_stride == 0 && params.pairs[0] &&
                       element_bytes(params.addend[0].type) == 2;
  return params;
}

}  // namespace hopper_gemm
