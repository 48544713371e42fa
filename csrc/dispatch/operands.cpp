// Problem -> GemmParams. M and N are not 0 here, and K only with epilogue options: launch.cpp answers the rest itself.
#include "operands.h"

#include <algorithm>

#include "epilogue.h"
#include "hopper_gemm/core/boxes.h"
#include "problem_error.h"

namespace hopper_gemm {
namespace {

// Of a row that is never left: whole 16 bytes.
int64_t legal_pitch(int64_t contiguous, DataType type) {
  const int64_t step = kAccessBytes / element_bytes(type);
  return (contiguous + step - 1) / step * step;
}

// The third dimension of a map, legal also where it has one matrix.
void set_batches(TensorMapSpec& spec, int64_t batches, int64_t batch_stride) {
  const bool many = batches > 1 && batch_stride != 0;
  spec.batches = many ? static_cast<uint64_t>(batches) : 1;
  spec.batch_bytes = many ? static_cast<uint64_t>(batch_stride * element_bytes(spec.type)) : spec.pitch_bytes;
}

TensorMapSpec operand_spec(const OperandTile& tile, int box_rows, const void* address, DataType type, int64_t mn, int64_t k,
                           int64_t pitch, int64_t batches, int64_t batch_stride) {
  const int64_t inner = tile.major == Major::k ? k : mn, outer = tile.major == Major::k ? mn : k;
  TensorMapSpec spec = {
      .address = const_cast<void*>(address),
      .type = type,
      .extent = {static_cast<uint64_t>(std::max<int64_t>(inner, 1)), static_cast<uint64_t>(std::max<int64_t>(outer, 1))},
      .pitch_bytes = static_cast<uint64_t>(pitch * element_bytes(type)),
      .box = {static_cast<uint32_t>(tile.span()), static_cast<uint32_t>(box_rows)},
      .swizzle = tile.swizzle};
  set_batches(spec, batches, batch_stride);
  return spec;
}

}  // namespace

Problem with_legal_pitches(Problem p) {
  if (p.k == 0) {  // nothing of A and B is loaded, but their tensor maps must be legal: one element, at any address
    p.a = p.b = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(p.out) / kAccessBytes * kAccessBytes);
    p.a_pitch = legal_pitch(p.m, p.a_type), p.b_pitch = legal_pitch(p.n, p.b_type);
    p.a_batch = p.b_batch = 0;
  }
  const bool a_k = p.a_major == Major::k, b_k = p.b_major == Major::k;
  if ((a_k ? p.m : p.k) <= 1) p.a_pitch = legal_pitch(a_k ? p.k : p.m, p.a_type);
  if ((b_k ? p.n : p.k) <= 1) p.b_pitch = legal_pitch(b_k ? p.k : p.n, p.b_type);
  if (p.stored_rows() <= 1) p.out_pitch = legal_pitch(p.stored_columns(), p.output);
  return p;
}

// A TMA store clips the innermost extent at whole 16 bytes, not at elements: with N = 1 it wrote 8 columns (H200,
// 2026-11-29; loads zero-fill exactly). So a stored row, like
// the pitch and the address, must be whole 16 bytes.
Store store_path(const KernelConfig& config, const Problem& p) {
  if (config.store != Store::tma || element_bytes(p.output) != 2) return Store::direct;
  const bool can = p.stored_columns() * element_bytes(p.output) % kAccessBytes == 0 &&
                   p.out_pitch * element_bytes(p.output) % kAccessBytes == 0 &&
                   p.out_batch * element_bytes(p.output) % kAccessBytes == 0 &&
                   reinterpret_cast<uintptr_t>(p.out) % kAccessBytes == 0;
  return can ? Store::tma : config.stores_rows() ? Store::rows : Store::direct;
}

TensorMapSpec a_map_spec(const KernelConfig& config, const Problem& p, int box_rows) {
  return operand_spec(a_tile(config), box_rows, p.a, p.a_type, p.m, p.k, p.a_pitch, p.batches, p.a_batch);
}

TensorMapSpec b_map_spec(const KernelConfig& config, const Problem& p, int box_rows) {
  return operand_spec(b_tile(config), box_rows, p.b, p.b_type, p.n, p.k, p.b_pitch, p.batches, p.b_batch);
}

TensorMapSpec out_map_spec(const KernelConfig& config, const Problem& p) {
  TensorMapSpec spec = {.address = p.out,
                        .type = p.output,
                        .extent = {static_cast<uint64_t>(p.stored_columns()), static_cast<uint64_t>(p.stored_rows())},
                        .pitch_bytes = static_cast<uint64_t>(p.out_pitch * element_bytes(p.output)),
                        .box = {static_cast<uint32_t>(config.panel_columns()), static_cast<uint32_t>(config.panel_rows())},
                        .swizzle = config.panel_swizzle()};
  set_batches(spec, p.batches, p.out_batch);
  return spec;
}

GemmParams make_params(const KernelConfig& config, const Problem& p, const TileOrder& order, Store store) {
  GemmParams params{};
  params.a = p.a;
  params.b = p.b;
  params.out = p.out;
  params.a_pitch = p.a_pitch;
  params.b_pitch = p.b_pitch;
  params.out_pitch = p.out_pitch;
  params.a_batch = p.batches > 1 ? p.a_batch : 0;
  params.b_batch = p.batches > 1 ? p.b_batch : 0;
  params.out_batch = p.batches > 1 ? p.out_batch : 0;
  params.a_step = params.a_batch != 0;
  params.b_step = params.b_batch != 0;
  params.m = static_cast<int>(p.m);
  params.n = static_cast<int>(p.n);
  params.k = static_cast<int>(p.k);
  params.a_edge = edge_boxes(a_tile(config), config.a_sharers(), p.m);
  params.b_edge = edge_boxes(b_tile(config), config.b_sharers(), p.n);
  params.order = order;
  params.out_type = p.output;
  params.store = store;
  params.epilogue = epilogue_params(p);
  // epilogue/column_bias.h: in place, where the tile is stored as that of a plain product
  params.epilogue.column_bias &= store == Store::tma && config.is_row_major() && config.accumulator == DataType::f32;
  params.out_pairs = p.out_pitch % 2 == 0 && params.out_batch % 2 == 0 &&
                     reinterpret_cast<uintptr_t>(p.out) % (2 * element_bytes(p.output)) == 0;
  return params;
}

}  // namespace hopper_gemm
