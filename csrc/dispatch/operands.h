// What a kernel is told about A, B and the output: legal pitches, tensor maps, how the output can be written.
#pragma once
#include "../emulator/emulator.h"
#include "hopper_gemm.h"
#include "hopper_gemm/core/boxes.h"

namespace hopper_gemm {

using TensorMapSpec = emulator::TensorMapSpec;

// Replaces the pitch of every operand of extent 1 (arbitrary in torch) by a legal one.
Problem with_legal_pitches(Problem problem);

// 16-bit outputs of a kernel that has staging buffers: Store::tma if TMA can write them, else Store::rows if it can.
Store store_path(const KernelConfig& config, const Problem& problem);

// One box is what one CTA loads: the sharers of a multicast load a slice of the rows each.
TensorMapSpec a_map_spec(const KernelConfig& config, const Problem& problem, int box_rows);
TensorMapSpec b_map_spec(const KernelConfig& config, const Problem& problem, int box_rows);
TensorMapSpec out_map_spec(const KernelConfig& config, const Problem& problem);

// Everything but the tensor maps, which each machine encodes its own way, and the watchdog.
GemmParams make_params(const KernelConfig& config, const Problem& problem, const TileOrder& order, Store store);

// The maps of A and B, for whole tiles and for clipped ones.
template <class Encode>
void encode_operands(GemmParams& params, const KernelConfig& config, const Problem& problem, Encode&& encode) {
  params.a_map = encode(a_map_spec(config, problem, whole_box_rows(a_tile(config), config.a_sharers())));
  params.b_map = encode(b_map_spec(config, problem, whole_box_rows(b_tile(config), config.b_sharers())));
  if (params.a_edge.exist()) params.a_edge_map = encode(a_map_spec(config, problem, params.a_edge.rows));
  if (params.b_edge.exist()) params.b_edge_map = encode(b_map_spec(config, problem, params.b_edge.rows));
}

}  // namespace hopper_gemm
