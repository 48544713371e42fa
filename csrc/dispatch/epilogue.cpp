// EpilogueOptions -> EpilogueParams: addends that are not added have no data, so that a kernel never reads them.
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
  return {.plain = e.is_plain(),
          .empty_sum = problem.k == 0,
          .activation = e.activation,
          .alpha = e.alpha,
          .scale_a = e.scale_a,
          .scale_b = e.scale_b,
          .addend = {e.beta == 0 ? Addend{} : e.c, e.bias, e.residual},
          .factor = {e.beta, 1, 1},
          .scale_result = e.scale_result};
}

}  // namespace hopper_gemm
