// The rules of a problem, each with its number: types, majors, extents, pitches, alignment.
// The pitch of a dimension of extent 1 is never used, so it is not checked (operands.cpp substitutes a legal one).
#include "problem_error.h"

#include "epilogue.h"
#include "kernels.h"
#include "plan.h"
#include "text.h"

namespace hopper_gemm {
namespace {

using Kind = Error::Kind;

struct Operand {
  const char* name;
  const void* address;
  int64_t pitch;
  Major major, kernel_major;
  int64_t mn, k;
  const char* mn_name;
  int64_t batches, batch;

  int64_t contiguous() const { return major == Major::k ? k : mn; }
  int64_t rows() const { return major == Major::k ? mn : k; }
};

std::optional<Error> check_operand(const Operand& o, DataType type) {
  if (o.major != o.kernel_major)
    return Error(Kind::value,
                 text(o.name, " is ", o.major == Major::k ? "K" : o.mn_name, "-major, the kernel reads it ",
                      o.kernel_major == Major::k ? "K" : o.mn_name, "-major: choose a kernel of the other layout"));
  if (o.contiguous() == 0 || o.rows() == 0) return {};
  if (o.address == nullptr)
    return Error(Kind::value, text(o.name, " has no memory (address 0): wrapper tensors have none; pass the tensor inside"));
  const int64_t bytes = element_bytes(type), address = reinterpret_cast<int64_t>(o.address);
  if (address % kAccessBytes)
    return Error(Kind::value, text(o.name, " starts ", address % kAccessBytes, " bytes after a multiple of ", kAccessBytes,
                                   ": its address must be a multiple of ", kAccessBytes, " bytes; copy it to a new tensor"));
  if (o.batches > 1 && (o.batch < 0 || o.batch * bytes % kAccessBytes || o.batch * bytes >= int64_t{1} << 40))
    return Error(Kind::value,
                 text("the matrices of ", o.name, " are ", o.batch, " elements = ", o.batch * bytes,
                      " bytes apart: it must be a multiple of ", kAccessBytes, " bytes, 0 or more and below 2^40"));
  if (o.rows() == 1) return {};
  // Rows may overlap (a sliding window), but TMA has no stride of 0.
  if (o.pitch <= 0 || o.pitch * bytes % kAccessBytes || o.pitch * bytes >= int64_t{1} << 40)
    return Error(Kind::value,
                 text(o.name, " has a stride of ", o.pitch, " elements = ", o.pitch * bytes,
                      " bytes between rows: it must be a multiple of ", kAccessBytes, " bytes (", kAccessBytes / bytes,
                      " elements), above 0 and below 2^40; pad ", o.major == Major::k ? "K" : o.mn_name, " to ",
                      (o.contiguous() + kAccessBytes / bytes - 1) / (kAccessBytes / bytes) * (kAccessBytes / bytes)));
  return {};
}

bool can_write(const KernelConfig& config, DataType output) {
  using enum DataType;
  if (config.accumulator == s32) return output == s32;
  return output == bf16 || output == f16 || output == f32 || is_fp8(output);
}

std::optional<Error> check_output(const Problem& p) {
  if (p.out == nullptr && p.m > 0 && p.n > 0)
    return Error(Kind::value, "out has no memory (address 0): wrapper tensors have none; pass the tensor inside");
  const int64_t bytes = element_bytes(p.output);
  if (reinterpret_cast<int64_t>(p.out) % bytes)
    return Error(Kind::value, text("out is not aligned to its elements of ", bytes, " bytes"));
  if (p.stored_rows() > 1 && p.out_pitch < p.stored_columns())
    return Error(Kind::value, text("out has a stride of ", p.out_pitch, " elements between rows of ", p.stored_columns(),
                                   ": rows must not overlap"));
  return {};
}

}  // namespace

std::optional<Error> check_problem(const KernelConfig& config, const Problem& p) {
  for (const auto& [name, extent] : {std::pair{"M", p.m}, {"N", p.n}, {"K", p.k}, {"the batch", p.batches}})
    if (extent < 0 || extent > kMaxExtent)
      return Error(Kind::value, text(name, " = ", extent, ": extents are 0 to ", kMaxExtent));
  if (p.a_type != config.a_type || p.b_type != config.b_type)
    return Error(Kind::type, text("inputs are ", name_of(p.a_type), " and ", name_of(p.b_type), ", the kernel takes ",
                                  name_of(config.a_type), " and ", name_of(config.b_type)));
  if (!can_write(config, p.output))
    return Error(Kind::type, text("out is ", name_of(p.output), ", the kernel writes ",
                                  config.accumulator == DataType::s32 ? "s32" : "bf16, f16, f32, e4m3 or e5m2"));
  if (p.out_order != config.output)
    return Error(Kind::value, text("out is ", name_of(p.out_order), ", the kernel writes it ", name_of(config.output),
                                   ": exchange the operands (out^T = B^T A^T) or choose a kernel of the other order"));
  const Operand a{"A", p.a, p.a_pitch, p.a_major, config.a_major, p.m, p.k, "M", p.batches, p.a_batch};
  const Operand b{"B", p.b, p.b_pitch, p.b_major, config.b_major, p.n, p.k, "N", p.batches, p.b_batch};
  if (auto error = check_operand(a, p.a_type)) return error;
  if (auto error = check_operand(b, p.b_type)) return error;
  if (auto error = check_output(p)) return error;
  if (auto error = check_epilogue(config, p)) return error;
  const int64_t tiles = tiles_along(p.m, config.tile_m, config.cluster_m) *
                        tiles_along(p.n, config.tile_n, config.cluster_n) * config.cluster_k *
                        (p.batches > 1 ? p.batches : 1);
  if (tiles > kMaxExtent)
    return Error(Kind::value,
                 text("the output has ", tiles, " tiles, more than ", kMaxExtent, ": choose a kernel with a larger tile"));
  return {};
}

std::string problem_error(int id, const Problem& problem) {
  const auto error = check_problem(entry_at(id).config, problem);
  return error ? error->what() : "";
}

}  // namespace hopper_gemm
