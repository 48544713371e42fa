// How many rows of an operand TMA loads at a time.
//
// A row beyond the edge, which becomes zeros, takes TMA about six times as long as one that exists: with tiles of 128 x 128 and
// 64 rows of activations an fp8 product took 35.7 us, with boxes of 64 rows 18.1 (64 x 14336 x 4096, H200,
// benchmarks/results/boxes.json). So where an operand has fewer rows than a tile its boxes have no more than the operand. What
// lies behind them in a stage is never written; it is multiplied for rows or columns of the tile that nobody stores.
#pragma once
#include <cstdint>

#include "hopper_gemm/core/math.h"
#include "hopper_gemm/core/swizzle.h"

namespace hopper_gemm {

// Boxes of few rows stay whole: those of 64 x 16 tiles were up to 10% slower with 1 to 4 rows, at best 2% faster.
constexpr int kWholeBoxRows = 16;
constexpr int kAtomRows = 8;  // after which a swizzle pattern begins again

// Rows of a box: of the tile, or of the slice of it that each CTA loads which shares the operand with others. Slices begin where
// the swizzle pattern does.
constexpr int box_rows(const OperandTile& tile, int sharers, int64_t mn) {
  if (tile.major == Major::mn || mn >= tile.rows() || tile.rows() <= kWholeBoxRows) return tile.rows() / sharers;
  const int rows = mn < 1 ? 1 : static_cast<int>(mn);
  return sharers == 1 ? rows : round_up(ceil_div(rows, sharers), kAtomRows);
}

// What arrives in a stage: both operands, the slices of peers included.
constexpr int loaded_bytes(const KernelConfig& c, int a_box_rows, int b_box_rows) {
  const OperandTile a = a_tile(c), b = b_tile(c);
  return c.a_sharers() * a_box_rows * a.span_bytes() * a.boxes() + c.b_sharers() * b_box_rows * b.span_bytes() * b.boxes();
}

}  // namespace hopper_gemm
