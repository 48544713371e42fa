// Copy -> PackJob: which dimension the pieces run along, whether the tile is staged, and what cannot be addressed.
#include "pack.h"

#include <utility>

#include "text.h"

namespace hopper_gemm {
namespace {

void check(const Copy& c) {
  const auto refuse = [](const std::string& what) { throw Error(Error::Kind::value, "copy: " + what); };
  if (c.element_bytes != 1 && c.element_bytes != 2 && c.element_bytes != 4)
    refuse(text("elements of ", c.element_bytes, " bytes: expected 1, 2 or 4"));
  if (c.split != Copy::Split::none && (c.element_bytes != 4 || c.padded_columns < c.columns || c.target.column_stride != 1))
    refuse("only rows of float32 are split, into segments of padded_columns, next to each other");
  for (const auto& [name, side] : {std::pair{"source", &c.source}, {"target", &c.target}})
    if (reinterpret_cast<uintptr_t>(side->data) % c.element_bytes)
      refuse(text("the ", name, " is not aligned to its elements of ", c.element_bytes, " bytes"));
}

PackSide side_of(const Copy::Side& side) {
  PackSide packed = {side.row_stride, side.column_stride, {}};
  for (int dim = 0; dim < kPackBatchDims; ++dim) packed.batch_stride[dim] = side.batch_stride[dim];
  return packed;
}

// The rows and columns of a copy exchanged.
Copy turned(Copy c) {
  std::swap(c.rows, c.columns);
  std::swap(c.source.row_stride, c.source.column_stride);
  std::swap(c.target.row_stride, c.target.column_stride);
  return c;
}

PackJob job_of(Copy c) {
  check(c);
  // Pieces run along the dimension that is contiguous in the target, or else in the source.
  const auto along_rows = [](const Copy::Side& side) { return side.row_stride == 1 && side.column_stride != 1; };
  const bool target_has_one = c.target.column_stride == 1 || c.target.row_stride == 1;
  if (c.padded_columns <= c.columns && c.split == Copy::Split::none && along_rows(target_has_one ? c.target : c.source))
    c = turned(c), c.padded_columns = 0;
  PackJob job = {};
  job.source = c.source.data;
  job.target = c.target.data;
  job.from = side_of(c.source);
  job.to = side_of(c.target);
  job.rows = c.rows;
  job.columns = c.columns;
  job.padded_columns = c.padded_columns > c.columns ? c.padded_columns : c.columns;
  job.split = static_cast<PackSplit>(c.split);
  for (int dim = 0; dim < kPackBatchDims; ++dim) job.batches[dim] = static_cast<int>(c.batches[dim]);
  // Lanes run along the rows of a side whose rows are nearer to each other than its columns.
  const auto rows_are_near = [&](const PackSide& side) {
    return job.rows > 1 && side.row_stride != 0 && side.row_stride < side.column_stride;
  };
  job.gathers = rows_are_near(job.from);
  job.staged = job.gathers != rows_are_near(job.to);
  const bool ends_within_words =
      (reinterpret_cast<uintptr_t>(job.source) | static_cast<uintptr_t>(job.columns * c.element_bytes)) % kPieceBytes != 0;
  job.across = !job.staged && job.from.column_stride == 1 && job.from.row_stride == job.columns && ends_within_words;
  if (job.rows > 0 && job.padded_columns > 0) {
    // No fewer than a tile of any shape gives (core/pack_params.h).
    int64_t tiles =
        ceil_div(job.rows, int64_t{16}) * ceil_div(job.padded_columns, int64_t{8} * kPieceBytes / c.element_bytes);
    for (const int extent : job.batches) tiles *= extent;
    if (tiles > (int64_t{1} << 30))
      throw Error(Error::Kind::value, text("copy: ", tiles, " tiles are more than one launch can have"));
    count_tiles(job, kPieceBytes / c.element_bytes);
  }
  return job;
}

}  // namespace

PackParams pack_params(const std::vector<Copy>& copies) {
  if (copies.empty() || copies.size() > 2) throw Error(Error::Kind::value, "copy: one launch makes one or two copies");
  if (copies.size() == 2 && copies[0].element_bytes != copies[1].element_bytes)
    throw Error(Error::Kind::value, "copy: two copies of one launch have elements of one size");
  PackParams params = {};
  for (size_t i = 0; i < copies.size(); ++i) params.jobs[i] = job_of(copies[i]);
  return params;
}

emulator::Footprint footprint(const Copy& c, bool of_target) {
  const Copy::Side& side = of_target ? c.target : c.source;
  int64_t columns = of_target && c.padded_columns > c.columns ? c.padded_columns : c.columns;
  if (of_target && c.split != Copy::Split::none) columns = 3 * c.padded_columns;
  std::vector<emulator::Footprint::Dimension> dimensions = {{c.rows, side.row_stride}, {columns, side.column_stride}};
  for (int dim = 0; dim < kPackBatchDims; ++dim) dimensions.push_back({c.batches[dim], side.batch_stride[dim]});
  return {of_target ? "the target" : "the source", side.data, c.element_bytes, dimensions};
}

}  // namespace hopper_gemm
