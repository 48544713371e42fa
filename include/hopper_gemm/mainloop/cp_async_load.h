// cp.async loads of one k-block by all threads of the CTA: the same shared-memory layout a TMA box would have,
// written in 16-byte chunks; what lies outside the operand becomes zero. TMA rounds float32 to tf32 as it loads; here each
// thread rounds what it has copied, once it has arrived.
#pragma once
#include "hopper_gemm/core/swizzle.h"
#include "hopper_gemm/kernel/context.h"
#include "hopper_gemm/scheduler/tile_order.h"

namespace hopper_gemm {

// An operand in global memory: `extent` elements along the contiguous index, `rows` rows of `pitch` elements.
struct GlobalOperand {
  const unsigned char* data;
  int64_t pitch;
  int extent, rows;
};

// Calls visit(place in shared memory, row, first column) for each chunk of a tile that this thread copies.
template <class K, bool kIsA, class Visit>
HG_DEVICE void for_own_chunks(unsigned char* destination, Visit visit) {
  constexpr KernelConfig c = K::config;
  constexpr OperandTile tile = kIsA ? a_tile(c) : b_tile(c);
  constexpr int chunk = 16 / tile.element_bytes;                  // elements of a copy
  constexpr int row_chunks = tile.boxes() * tile.span() / chunk;  // copies per row
  constexpr int chunks = tile.rows() * row_chunks;
  HG_UNROLL for (int first = 0; first < chunks; first += c.threads()) {
    const int index = first + static_cast<int>(arch::thread_index());
    if (chunks % c.threads() != 0 && index >= chunks) break;
    const int row = index / row_chunks, column = index % row_chunks * chunk;
    const int box = column / tile.span(), in_box = column % tile.span();
    visit(
        destination + box * tile.box_bytes() + swizzled(tile.swizzle, row * tile.span_bytes() + in_box * tile.element_bytes),
        row, column);
  }
}

template <class K, bool kIsA>
HG_DEVICE void copy_operand(unsigned char* destination, GlobalOperand from, int mn_begin, int k_begin) {
  constexpr OperandTile tile = kIsA ? a_tile(K::config) : b_tile(K::config);
  constexpr int chunk = 16 / tile.element_bytes;
  const int row_begin = tile.major == Major::k ? mn_begin : k_begin;
  const int column_begin = tile.major == Major::k ? k_begin : mn_begin;
  for_own_chunks<K, kIsA>(destination, [&](unsigned char* to, int row, int column) {
    const int missing = from.extent - (column_begin + column);
    const int valid = row_begin + row < from.rows ? (missing < chunk ? (missing < 0 ? 0 : missing) : chunk) : 0;
    const int64_t offset = valid > 0 ? (row_begin + row) * from.pitch + column_begin + column : 0;
    arch::cp_async_16(to, from.data + offset * tile.element_bytes, valid * tile.element_bytes);
  });
}

// After the wait for this thread's copies into `stage`, before the proxy fence.
template <class K>
HG_DEVICE void round_copied(const Context<K>& context, int stage) {
  if constexpr (K::config.a_type == DataType::tf32) {
    const auto round = [](unsigned char* chunk, int, int) { arch::round_tf32(chunk); };
    for_own_chunks<K, true>(context.shared.a[stage], round);
    for_own_chunks<K, false>(context.shared.b[stage], round);
  }
}

// All threads: both operands of k-block `k_block` into `stage`, as one cp.async group.
template <class K>
HG_DEVICE void copy_tiles(const Context<K>& context, int stage, Tile tile, int k_block) {
  constexpr KernelConfig c = K::config;
  const GemmParams& params = context.params;
  const bool a_is_k = c.a_major == Major::k, b_is_k = c.b_major == Major::k;
  const auto matrix = [&](const void* first, int64_t batch_elements) {
    return static_cast<const unsigned char*>(first) + tile.batch * batch_elements * c.element_bytes();
  };
  const GlobalOperand a = {matrix(params.a, params.a_batch), params.a_pitch, a_is_k ? params.k : params.m,
                           a_is_k ? params.m : params.k};
  const GlobalOperand b = {matrix(params.b, params.b_batch), params.b_pitch, b_is_k ? params.k : params.n,
                           b_is_k ? params.n : params.k};
  copy_operand<K, true>(context.shared.a[stage], a, tile.m * c.tile_m, k_block * c.tile_k);
  copy_operand<K, false>(context.shared.b[stage], b, tile.n * c.tile_n, k_block * c.tile_k);
}

}  // namespace hopper_gemm
