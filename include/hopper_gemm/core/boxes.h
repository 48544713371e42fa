// How many rows of an operand TMA loads at a time.
//
// A row beyond the edge, which becomes zeros, takes TMA several times as long as one that exists: with tiles of 128 x 128 and
// 64 rows of activations an fp8 product took 35.7 us, with boxes of 64 rows 18.1 (64 x 14336 x 4096, H200,
// benchmarks/results/boxes.json). So the boxes of the last tile have no more rows than are left, and a tensor map of their own.
// What lies behind them in a stage is not written; it is multiplied for rows or columns of the tile that nobody stores.
#pragma once
#include <cstdint>

#include "hopper_gemm/core/math.h"
#include "hopper_gemm/core/params.h"
#include "hopper_gemm/core/swizzle.h"

namespace hopper_gemm {

// Boxes of tiles of few rows stay whole: those of 64 x 16 tiles were up to 10% slower with 1 to 4 rows, at best 2% faster.
constexpr int kWholeTileRows = 16;
constexpr int kAtomRows = 8;  // after which a swizzle pattern begins again: slices begin there

// Of a whole tile: its rows, or those of the slice that each CTA loads which shares the operand with others.
constexpr int whole_box_rows(const OperandTile& tile, int sharers) { return tile.rows() / sharers; }

// Of the last of the tiles along `mn` rows of the operand.
constexpr EdgeBoxes edge_boxes(const OperandTile& tile, int sharers, int64_t mn) {
  const int whole = whole_box_rows(tile, sharers), left = static_cast<int>(mn % tile.rows());
  if (tile.major == Major::mn || tile.rows() <= kWholeTileRows || left == 0) return {};
  const int rows = sharers == 1 ? left : round_up(ceil_div(left, sharers), kAtomRows);
  if (rows == whole) return {};
  return {static_cast<int>(mn / tile.rows()), rows, sharers * (whole - rows) * tile.span_bytes() * tile.boxes()};
}

}  // namespace hopper_gemm
