// What the packing kernel is given at launch: one or two copies between memory of any strides (kernel/pack.h).
// A copy goes by pieces of 16 bytes along the columns; a CTA copies one tile of pieces.
#pragma once
#include <cstdint>

#include "hopper_gemm/core/math.h"

namespace hopper_gemm {

constexpr int kPackThreads = 256;
constexpr int kPieceBytes = 16;
constexpr int kPackBatchDims = 4;

// A tile of one CTA: 512 pieces. Staged copies (source and target contiguous in different dimensions) pass through shared
// memory; theirs is as near to a square as both sides' 128-byte lines allow. Of other copies a tile has up to 32 pieces of a
// row, and the more rows the shorter they are: of 16 rows of 84 bytes 26 threads in 32 had nothing to copy.
struct PackTile {
  int rows, pieces;
};
constexpr int kTilePieces = 512;
constexpr int kStagedPiecesLog2 = 3, kLongestPiecesLog2 = 5;
constexpr PackTile pack_tile(int pieces_log2) { return {kTilePieces >> pieces_log2, 1 << pieces_log2}; }
constexpr PackTile kStagedTile = pack_tile(kStagedPiecesLog2);

// One side of a copy, in elements.
struct PackSide {
  int64_t row_stride, column_stride;
  int64_t batch_stride[kPackBatchDims];
};

// float32 operands of a 3xTF32 product: x = high + low, both of which tf32 holds. K becomes three segments,
//   left  low  high high      right  high low  high
// so that one tf32 product over 3 K sums low * high + high * low + high * high: the small ones first, because what an
// addition loses is a part of the sum so far.
enum class PackSplit : int { none, left, right };

struct PackJob {
  const void* source;
  void* target;
  PackSide from, to;
  int64_t rows, columns;
  int64_t padded_columns;              // the target's columns up to here are zeroed; `columns` if nothing is
  int batches[kPackBatchDims];         // outermost first; 1 where there is none
  int tiles, row_tiles, column_tiles;  // in all; of one matrix
  int pieces_log2;                     // of a tile's rows
  bool staged;
  bool across;      // the rows are adjacent, and words across their ends are read whole
  bool gathers;     // staged: lanes run along the source's rows, else along the target's
  PackSplit split;  // segments of padded_columns each
};

struct PackParams {
  PackJob jobs[2];  // the second may have no tiles
};

// The shape of a tile, and tiles of one matrix and in all; everything else of the job is known.
constexpr void count_tiles(PackJob& job, int64_t piece_columns) {
  const int64_t row_pieces = ceil_div(job.padded_columns, piece_columns);
  job.pieces_log2 = job.staged ? kStagedPiecesLog2 : 0;
  while (!job.staged && job.pieces_log2 < kLongestPiecesLog2 && row_pieces > 1 << job.pieces_log2) ++job.pieces_log2;
  const PackTile tile = pack_tile(job.pieces_log2);
  job.row_tiles = static_cast<int>(ceil_div(job.rows, int64_t{tile.rows}));
  job.column_tiles = static_cast<int>(ceil_div(row_pieces, int64_t{tile.pieces}));
  job.tiles = job.row_tiles * job.column_tiles;
  for (const int extent : job.batches) job.tiles *= extent;
}

}  // namespace hopper_gemm
