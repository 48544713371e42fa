// What a kernel is given at launch. One layout for the GPU and the emulator.
#pragma once
#include <climits>
#include <cstdint>

#include "hopper_gemm/core/epilogue_params.h"

namespace hopper_gemm {

// On the GPU a CUtensorMap; in the emulator the decoded description (csrc/emulator/tensor_map.h).
struct alignas(128) TensorMap {
  unsigned char opaque[128];
};

// Tiles of the output and the order in which they are walked (scheduler/tile_order.h).
struct TileOrder {
  int tiles_m, tiles_n;  // rounded up to whole clusters
  int group;             // width of a group of tile rows (or columns) walked together, in clusters; >= 1
  Raster raster;
  int batches = 1;  // products of one launch, walked one after the other
};

// The boxes of an operand's last tile, where they are smaller than others' (core/boxes.h).
struct EdgeBoxes {
  int first_tile = INT_MAX;  // tiles from here on have them: the last one, and tiles beyond it that fill up a cluster
  int rows = 0;
  int missing_bytes = 0;  // of a stage: what they do not load
  constexpr bool exist() const { return missing_bytes > 0; }
};

struct GemmParams {
  TensorMap a_map, b_map;  // unused by multistage
  TensorMap out_map;       // used when store == Store::tma
  const void* a;
  const void* b;
  void* out;
  int64_t a_pitch, b_pitch, out_pitch;  // elements between consecutive rows of the stored matrix
  int64_t a_batch, b_batch, out_batch;  // elements between consecutive matrices
  int m, n, k;
  int a_step, b_step;  // 0 if all products share the operand: what a batch adds to its map's third coordinate
  StaticOperand static_operand = StaticOperand::none;
  TileOrder order;
  DataType out_type;
  Store store;     // Store::tma only if the kernel has staging buffers, Store::rows only if it stores_rows()
  bool out_pairs;  // direct store: two adjacent columns may be written as one aligned word
  EpilogueParams epilogue;
  // At the end: with these in front of the others, consumers of 192 x 128 tiles spilled.
  EdgeBoxes a_edge, b_edge;
  TensorMap a_edge_map, b_edge_map;  // used by tiles from first_tile on
};

}  // namespace hopper_gemm
