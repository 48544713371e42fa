// Reads sizes, strides and addresses; nothing is copied, allocated or launched here.
#include "tensors.h"

#include "text.h"

namespace hopper_gemm {
namespace {

using Kind = Error::Kind;

DataType type_of(const at::Tensor& tensor, const char* name) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16: return DataType::bf16;
    case at::kHalf: return DataType::f16;
    case at::kFloat: return DataType::f32;
    default:
      throw Error(Kind::type, text(name, " has dtype ", c10::toString(tensor.scalar_type()),
                                   ": inputs are bfloat16 or float16, outputs also float32"));
  }
}

std::string shape_text(const at::Tensor& t) {
  return text("(", t.size(0), ", ", t.size(1), ") with strides (", t.stride(0), ", ", t.stride(1), ")");
}

void check_matrix(const at::Tensor& tensor, const char* name) {
  if (tensor.is_neg())
    throw Error(Kind::type, text(name, " is a view with its negative bit set, which kernels do not read: pass .resolve_neg()"));
  if (tensor.dim() != 2) throw Error(Kind::value, text(name, " has ", tensor.dim(), " dimensions, expected 2"));
}

// The pitch of a matrix read along `inner` (the contiguous dimension).
int64_t pitch_of(const at::Tensor& tensor, int inner, const char* name, const char* major) {
  if (tensor.stride(inner) != 1 && tensor.size(inner) > 1)
    throw Error(Kind::value, text(name, " is ", shape_text(tensor), ", not contiguous along dimension ", inner,
                                  " as the kernel reads it (", major, "-major): choose a kernel of another layout"));
  return tensor.stride(1 - inner);
}

}  // namespace

Copy copy_of(const at::Tensor& source, const at::Tensor& target, int64_t padded) {
  const int64_t dims = source.dim();
  if (dims < 2 || dims > 2 + Copy::kBatchDims || source.sizes() != target.sizes() || source.scalar_type() != target.scalar_type())
    throw Error(Kind::value, text("a copy takes two tensors of one dtype and one shape of 2 to ", 2 + Copy::kBatchDims,
                                  " dimensions, got ", source.sizes(), " and ", target.sizes()));
  if (source.device() != target.device())
    throw Error(Kind::runtime, text("source is on ", source.device(), ", target on ", target.device(), ": expected one device"));
  Copy copy = {};
  copy.element_bytes = static_cast<int>(source.element_size());
  copy.rows = source.size(dims - 2);
  copy.columns = source.size(dims - 1);
  copy.padded_columns = padded;
  const auto side = [&](const at::Tensor& t, void* data) {
    Copy::Side s = {data, t.stride(dims - 2), t.stride(dims - 1)};
    for (int64_t d = 0; d < dims - 2; ++d) s.batch_stride[Copy::kBatchDims - (dims - 2) + d] = t.stride(d);
    return s;
  };
  copy.source = side(source, const_cast<void*>(source.const_data_ptr()));
  copy.target = side(target, target.data_ptr());
  for (int64_t d = 0; d < dims - 2; ++d) copy.batches[Copy::kBatchDims - (dims - 2) + d] = source.size(d);
  return copy;
}

Problem problem_of(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool exchanged) {
  const std::vector<KernelInfo>& list = kernels();
  if (id < 0 || id >= static_cast<int>(list.size()))
    throw Error(Kind::value, text("kernel id ", id, " does not exist: this build has ", list.size(), " kernels"));
  const KernelConfig& config = list[id].config;
  check_matrix(a, "a");
  check_matrix(b, "b");
  check_matrix(out, "out");
  if (exchanged) return problem_of(id, b.t(), a.t(), out.t(), false);
  if (a.size(1) != b.size(0) || out.size(0) != a.size(0) || out.size(1) != b.size(1))
    throw Error(Kind::value, text("shapes do not fit out = a @ b: a ", shape_text(a), ", b ", shape_text(b), ", out ", shape_text(out)));
  if (a.device() != b.device() || a.device() != out.device())
    throw Error(Kind::runtime, text("a is on ", a.device(), ", b on ", b.device(), ", out on ", out.device(), ": expected one device"));
  if (a.scalar_type() != b.scalar_type())
    throw Error(Kind::type, text("a is ", a.scalar_type(), " and b is ", b.scalar_type(), ": expected one dtype"));
  const bool a_k = config.a_major == Major::k, b_k = config.b_major == Major::k, row_major = config.is_row_major();
  return {.m = a.size(0),
          .n = b.size(1),
          .k = a.size(1),
          .input = type_of(a, "a"),
          .output = type_of(out, "out"),
          .a = a.const_data_ptr(),
          .a_pitch = pitch_of(a, a_k ? 1 : 0, "a", a_k ? "K" : "M"),
          .a_major = config.a_major,
          .b = b.const_data_ptr(),
          .b_pitch = pitch_of(b, b_k ? 0 : 1, "b", b_k ? "K" : "N"),
          .b_major = config.b_major,
          .out = out.data_ptr(),
          .out_pitch = row_major ? pitch_of(out, 1, "out", "N") : pitch_of(out, 0, "out", "M"),
          .out_order = config.output};
}

}  // namespace hopper_gemm
