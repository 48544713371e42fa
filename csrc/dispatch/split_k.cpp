// Problem -> its slices.
#include "split_k.h"

#include <array>
#include <iterator>

#include "problem_error.h"
#include "text.h"

namespace hopper_gemm {
namespace {

int64_t workspace_pitch(const Problem& p) { return (p.stored_columns() + 3) / 4 * 4; }

}  // namespace

const KernelEntry& slice_sum_entry(OutputOrder order, int slices) {
  const auto entries = [](OutputOrder o, std::array<const char*, std::size(kSlicesAtOnce)> names) {
    std::array<KernelEntry, names.size()> found{};
    for (int i = 0; i < static_cast<int>(names.size()); ++i)
      found[i] = {names[i], slice_sum_config(o), compiled::add_slices_function(o, i), emulated::add_slices_function(o, i),
                  false};
    return found;
  };
  static const auto row =
      entries(OutputOrder::row_major, {"add_few_slices_row_major", "add_slices_row_major", "add_many_slices_row_major"});
  static const auto column = entries(
      OutputOrder::column_major, {"add_few_slices_column_major", "add_slices_column_major", "add_many_slices_column_major"});
  return (order == OutputOrder::row_major ? row : column)[slice_sum_index(slices)];
}

int64_t split_k_bytes(const Problem& p, int slices) {
  return slices <= 1 ? 0 : slices * p.stored_rows() * workspace_pitch(p) * 4;
}

std::string slices_error(const KernelConfig& config, const Problem& p, int slices) {
  if (slices < 1) return text("slices is ", slices, ": expected 1 (K is not split) or more");
  if (slices == 1) return "";
  if (config.accumulator != DataType::f32)
    return text("K is split for f32 sums only, this kernel sums in ", name_of(config.accumulator));
  if (p.batches != 1) return text("K is split for one product at a time, this is a batch of ", p.batches);
  if (p.k % slices) return text("K = ", p.k, " does not fall into ", slices, " equal slices");
  const int64_t k = p.k / slices, bytes = k * element_bytes(p.a_type);
  const bool reads_rows = p.a_major == Major::k || p.b_major == Major::k;
  if (reads_rows && bytes % kAccessBytes)
    return text("slices of K = ", k, " are ", bytes, " bytes of a row: expected a multiple of ", kAccessBytes);
  return "";
}

Problem sliced(const Problem& p, int slices, void* workspace) {
  Problem s = p;
  s.epilogue = {};  // the launch that sums them has the options
  s.k = p.k / slices;
  s.batches = slices;
  s.a_batch = p.a_major == Major::k ? s.k : s.k * p.a_pitch;
  s.b_batch = p.b_major == Major::k ? s.k : s.k * p.b_pitch;
  s.out = workspace;
  s.output = DataType::f32;
  s.out_pitch = workspace_pitch(p);
  s.out_batch = p.stored_rows() * s.out_pitch;
  return s;
}

void read_slices(GemmParams& params, const Problem& slices) {
  params.a = slices.out;
  params.a_pitch = slices.out_pitch;
  params.a_batch = slices.out_batch;
  params.k = static_cast<int>(slices.batches);
}

}  // namespace hopper_gemm
