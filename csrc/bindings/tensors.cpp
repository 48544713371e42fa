// Reads sizes, strides and addresses; nothing is copied, allocated or launched here.
#include "tensors.h"

#include "product.h"
#include "text.h"

namespace hopper_gemm {
namespace {

using Kind = Error::Kind;

void check_tensor(const at::Tensor& tensor, const char* name) {
  if (tensor.is_neg())
    throw Error(Kind::type,
                text(name, " is a view with its negative bit set, which kernels do not read: pass .resolve_neg()"));
}

// float32 operands are multiplied as tf32.
DataType operand_type(const at::Tensor& tensor, const char* name) {
  const DataType type = output_type(tensor, name);
  return type == DataType::f32 ? DataType::tf32 : type;
}

// Tensors without memory stand for aligned ones: a plan can be made before anything is allocated.
void* address_of(const at::Tensor& tensor) {
  return tensor.is_meta() ? reinterpret_cast<void*>(uintptr_t{1024}) : const_cast<void*>(tensor.const_data_ptr());
}

// The pitch of a matrix of `rows` x `columns` read along its rows or its columns, which must be contiguous.
int64_t pitch_of(const Matrices& m, int64_t rows, int64_t columns, bool along_columns, const char* name, const char* major) {
  const int64_t contiguous = along_columns ? m.column_stride : m.row_stride, extent = along_columns ? columns : rows;
  if (!m.regular)
    throw Error(Kind::value,
                text("the batch dimensions of ", name, " do not follow each other at one stride, as a launch needs"));
  if (contiguous != 1 && extent > 1)
    throw Error(Kind::value, text(name, " is (", rows, ", ", columns, ") with strides (", m.row_stride, ", ",
                                  m.column_stride, "), not contiguous along dimension ", along_columns ? 1 : 0,
                                  " as the kernel reads it (", major, "-major): choose a kernel of another layout"));
  return along_columns ? m.row_stride : m.column_stride;
}

}  // namespace

DataType output_type(const at::Tensor& tensor, const char* name) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16: return DataType::bf16;
    case at::kHalf: return DataType::f16;
    case at::kFloat: return DataType::f32;
    case at::kFloat8_e4m3fn: return DataType::e4m3;
    case at::kFloat8_e5m2: return DataType::e5m2;
    case at::kChar: return DataType::s8;
    case at::kByte: return DataType::u8;
    case at::kInt: return DataType::s32;
    default:
      throw Error(
          Kind::type,
          text(name, " has dtype ", c10::toString(tensor.scalar_type()),
               ": kernels take bfloat16, float16, float32, float8_e4m3fn, float8_e5m2, int8 and uint8, and write int32"));
  }
}

void check_place(const at::Tensor& tensor, const char* name, const at::Tensor& out) {
  if (tensor.device() != out.device() && !out.is_meta())
    throw Error(Kind::runtime, text(name, " is on ", tensor.device(), ", out on ", out.device(), ": expected one device"));
  check_tensor(tensor, name);
}

Copy copy_of(const at::Tensor& source, const at::Tensor& target, int64_t padded, int split) {
  const int64_t dims = source.dim();
  if (dims < 2 || dims > 2 + Copy::kBatchDims || source.sizes() != target.sizes() ||
      source.scalar_type() != target.scalar_type())
    throw Error(Kind::value, text("a copy takes two tensors of one dtype and one shape of 2 to ", 2 + Copy::kBatchDims,
                                  " dimensions, got ", source.sizes(), " and ", target.sizes()));
  if (source.device() != target.device())
    throw Error(Kind::runtime,
                text("source is on ", source.device(), ", target on ", target.device(), ": expected one device"));
  Copy copy = {};
  copy.element_bytes = static_cast<int>(source.element_size());
  copy.rows = source.size(dims - 2);
  copy.columns = source.size(dims - 1);
  copy.padded_columns = padded;
  copy.split = static_cast<Copy::Split>(split);
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

Problem problem_of(int id, const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, bool exchanged,
                   const EpilogueTensors* epilogue) {
  const std::vector<KernelInfo>& list = kernels();
  if (id < 0 || id >= static_cast<int>(list.size()))
    throw Error(Kind::value, text("kernel id ", id, " does not exist: this build has ", list.size(), " kernels"));
  const KernelConfig& config = list[id].config;
  check_tensor(a, "a");
  check_tensor(b, "b");
  check_tensor(out, "out");
  if (a.device() != b.device() || a.device() != out.device())
    throw Error(Kind::runtime,
                text("a is on ", a.device(), ", b on ", b.device(), ", out on ", out.device(), ": expected one device"));
  const Product given = product_of(a, b, out, addends_of(epilogue, out)), product = exchanged ? given.exchanged() : given;
  const auto& [batches, m, n, k, pa, pb, pout, folded, addends] = product;
  const bool a_k = config.a_major == Major::k, b_k = config.b_major == Major::k, row_major = config.is_row_major();
  return {.m = m,
          .n = n,
          .k = k,
          .a_type = exchanged ? operand_type(b, "b") : operand_type(a, "a"),
          .b_type = exchanged ? operand_type(a, "a") : operand_type(b, "b"),
          .output = output_type(out, "out"),
          .a = address_of(exchanged ? b : a),
          .a_pitch = pitch_of(pa, m, k, a_k, "a", a_k ? "K" : "M"),
          .a_major = config.a_major,
          .b = address_of(exchanged ? a : b),
          .b_pitch = pitch_of(pb, k, n, !b_k, "b", b_k ? "K" : "N"),
          .b_major = config.b_major,
          .out = address_of(out),
          .out_pitch = pitch_of(pout, m, n, row_major, "out", row_major ? "N" : "M"),
          .out_order = config.output,
          .batches = batches,
          .a_batch = pa.batch_stride,
          .b_batch = pb.batch_stride,
          .out_batch = pout.batch_stride,
          .epilogue = epilogue == nullptr ? EpilogueOptions{} : options_of(*epilogue, product, out, exchanged)};
}

}  // namespace hopper_gemm
