// KernelConfig: one constexpr value says everything about a kernel. Every derived number (threads, bytes,
// arrivals, registers) is a member function here and is computed nowhere else.
// config_rule() names the first rule a config breaks; the library turns it into a sentence.
#pragma once
#include "hopper_gemm/core/math.h"
#include "hopper_gemm/core/types.h"

namespace hopper_gemm {

constexpr int kWarpgroupThreads = 128;
constexpr int kWarpsPerWarpgroup = 4;
constexpr int kMmaM = 64;                   // rows of one wgmma (PTX ISA, wgmma.mma_async shapes)
constexpr int kMmaKBytes = 32;              // K extent of one wgmma in bytes, for every type
constexpr int kSharedMemoryBytes = 232448;  // 227 KB: the opt-in maximum of a CTA on sm_90
constexpr int kRegistersPerSm = 65536;
constexpr int kTileAlignmentBytes = 1024;  // period of the 128-byte swizzle pattern
constexpr int kBarrierBytes = 8;

struct KernelConfig {
  Schedule schedule;
  DataType a_type, b_type;  // one type, or any two of e4m3 and e5m2, or of s8 and u8
  DataType accumulator;     // f32, or f16 for f16 inputs; s32 for integers
  Major a_major, b_major;
  int tile_m, tile_n, tile_k;
  int cluster_m, cluster_n;
  int stages;
  int consumers;  // warpgroups that issue wgmma
  Swizzle a_swizzle, b_swizzle;
  Store store;
  int mmas_in_flight;  // wgmma groups left in flight when a stage is released: 1, or 0 for the ablation
  OutputOrder output = OutputOrder::row_major;
  int cluster_k = 1;           // CTAs of a cluster that share the K extent of one tile (split-K; epilogue/cluster_reduce.h)
  int promote_k = 0;           // fp8, tf32: elements of K after which a sum moves to an fp32 one (promotion.h); 0: never
  bool fused_epilogue = true;  // takes EpilogueOptions; false for the ablation that shows what their branch costs

  constexpr bool operator==(const KernelConfig&) const = default;

  // --- roles and threads
  constexpr bool has_producer() const { return schedule >= Schedule::warp_specialized; }
  constexpr bool is_persistent() const { return schedule >= Schedule::cooperative; }
  constexpr bool is_pingpong() const { return schedule == Schedule::pingpong; }
  constexpr bool uses_tma() const { return schedule != Schedule::multistage; }
  constexpr int warpgroups() const { return consumers + (has_producer() ? 1 : 0); }
  constexpr int threads() const { return warpgroups() * kWarpgroupThreads; }
  constexpr int consumer_threads() const { return consumers * kWarpgroupThreads; }
  constexpr int cluster_size() const { return cluster_m * cluster_n * cluster_k; }
  constexpr bool splits_k() const { return cluster_k > 1; }
  constexpr bool takes_options() const { return fused_epilogue && accumulator != DataType::s32; }  // core/epilogue_params.h

  // --- the part of a tile one warpgroup computes
  constexpr int warpgroup_m() const { return is_pingpong() ? tile_m : tile_m / consumers; }
  constexpr int mma_blocks() const { return warpgroup_m() / kMmaM; }
  constexpr bool promotes() const { return promote_k > 0; }
  // 32-bit accumulator registers of one thread for a block of 64 rows, for one wgmma, and, accumulator_registers(), in all.
  constexpr int block_registers() const { return hopper_gemm::accumulator_registers(accumulator, tile_n); }
  constexpr int mma_registers() const { return hopper_gemm::accumulator_registers(accumulator, mma_n()); }
  // A promoting kernel without registers for all its sums twice multiplies the columns in halves, one after the other.
  constexpr bool halves_columns() const { return promotes() && mma_blocks() == 1 && 2 * block_registers() > 208; }
  constexpr int mma_n() const { return halves_columns() ? tile_n / 2 : tile_n; }
  // A promoting kernel of one block multiplies into two sets in turn (mainloop/promotion.h), if there are registers for it.
  constexpr bool alternates() const {
    return promotes() && has_producer() && consumers <= 2 && mma_blocks() == 1 && promote_k == tile_k &&
           3 * block_registers() <= 192;
  }
  constexpr int accumulator_sets() const { return alternates() ? 2 : mma_blocks(); }
  constexpr int accumulator_registers() const {
    return accumulator_sets() * mma_registers() + (promotes() ? mma_blocks() * block_registers() : 0);
  }

  // --- operand tiles in shared memory (core/swizzle.h draws them)
  constexpr int element_bytes() const { return hopper_gemm::element_bytes(a_type); }
  constexpr int mma_k() const { return kMmaKBytes / element_bytes(); }
  constexpr int a_stage_bytes() const { return tile_m * tile_k * element_bytes(); }
  constexpr int b_stage_bytes() const { return tile_n * tile_k * element_bytes(); }
  constexpr int stage_bytes() const { return a_stage_bytes() + b_stage_bytes(); }

  // Tiles of few columns begin their sums at different k-blocks (mainloop/k_order.h).
  constexpr bool turns_k() const {
    return uses_tma() && !is_row_major() && tile_n <= 32 && (a_major == Major::k || b_major == Major::mn);
  }
  // A launch may have tiles of a row begin apart (Raster::apart): measured to pay for promoting fp8 kernels alone.
  constexpr bool turns_when_told() const { return streams(); }
  // L2 lets go first of the operand that a band of tiles reads once (mainloop/tma_load.h).
  constexpr bool streams() const { return is_fp8(a_type) && promotes() && is_persistent() && is_row_major(); }

  // --- epilogue staging: panels of 64 rows x panel_n columns of 16-bit output, 1 or 2 buffers a warpgroup
  constexpr int panel_n() const { return gcd(tile_n, 64); }
  constexpr bool is_row_major() const { return output == OutputOrder::row_major; }
  // A panel row is contiguous in the output: panel_n columns, or the 64 rows of a column-major output.
  constexpr Swizzle panel_swizzle() const {
    if (!is_row_major()) return Swizzle::b128;
    return panel_n() == 64 ? Swizzle::b128 : panel_n() == 32 ? Swizzle::b64 : panel_n() == 16 ? Swizzle::b32 : Swizzle::none;
  }
  constexpr int panel_rows() const { return is_row_major() ? kMmaM : panel_n(); }
  constexpr int panel_columns() const { return is_row_major() ? panel_n() : kMmaM; }
  constexpr int panel_bytes() const { return kMmaM * panel_n() * 2; }
  constexpr int panel_buffers() const {
    if (store == Store::direct || splits_k()) return 0;
    return fixed_shared_bytes() + consumers * 2 * panel_bytes() <= kSharedMemoryBytes ? 2 : 1;
  }

  // Whether 16-bit outputs that a TMA store cannot write go through the panels too (epilogue/store_rows.h). Four warpgroups of
  // consumers have no registers for it.
  constexpr bool stores_rows() const { return panel_buffers() > 0 && consumers < 4; }

  // --- partial sums of a split tile: the f32 accumulators of every consumer thread
  constexpr int partial_bytes() const { return splits_k() ? tile_m * tile_n * 4 : 0; }

  // --- shared memory: stages, staging, then barriers (full, empty, pingpong order: 2 steps x 2 warpgroups)
  constexpr int barrier_count() const { return 2 * stages + 4; }
  constexpr int fixed_shared_bytes() const {
    return stages * stage_bytes() + partial_bytes() + round_up(barrier_count() * kBarrierBytes, kTileAlignmentBytes);
  }
  constexpr int shared_bytes() const { return fixed_shared_bytes() + consumers * panel_buffers() * panel_bytes(); }

  // --- barrier arithmetic (pipeline/tma_ring.h has the protocol table)
  constexpr int a_sharers() const { return cluster_n; }  // CTAs of one tile row share A
  constexpr int b_sharers() const { return cluster_m; }  // CTAs of one tile column share B
  constexpr int full_arrivals() const { return 1; }
  constexpr int releasing_ctas() const { return cluster_m + cluster_n - 1; }
  constexpr int empty_arrivals() const { return (is_pingpong() ? 1 : consumers) * kWarpsPerWarpgroup * releasing_ctas(); }

  // --- registers: the entry cap is what __launch_bounds__ leaves; setmaxnreg then moves the pool
  constexpr int entry_registers() const {
    const int cap = kRegistersPerSm / threads() / 8 * 8;
    return cap > 255 ? 255 : cap;
  }
  constexpr bool moves_registers() const { return has_producer() && consumers >= 2; }
  constexpr int producer_registers() const {
    return consumers == 2 ? (accumulator_registers() >= 208 ? 24 : 40) : consumers == 3 ? 32 : 24;
  }
  constexpr int consumer_registers() const {
    const int pool = entry_registers() * warpgroups() - producer_registers();
    const int each = pool / consumers / 8 * 8;
    return each > 240 ? 240 : each;
  }
  // Of a thread that computes, beside its accumulators.
  constexpr int free_registers() const {
    return (moves_registers() ? consumer_registers() : entry_registers()) - accumulator_registers();
  }
};

// Rules a config can break, in the order they are checked.
enum class ConfigRule : int {
  valid,
  types,            // which types go together (valid_types)
  major,            // K-major operands, but for 16-bit types
  tile_m,           // whole 64-row blocks for each consumer warpgroup
  tile_n,           // wgmma N: 8..256 in steps of 8; integers above 32 and what is multiplied in halves in steps of 16
  tile_k,           // whole swizzle atoms of K
  swizzle,          // an MN-major operand's tile extent is a whole number of swizzle spans
  consumers,        // how many warpgroups the schedule allows
  cluster,          // shape, and what the schedule allows
  multicast_slice,  // each sharer loads a slice of whole 8-row groups
  stages,
  promotion,      // of fp8 and tf32 sums, in whole parts of a stage, with no wgmma left in flight
  accumulators,   // registers of the accumulators against the cap
  register_pool,  // setmaxnreg targets against the pool (they are derived above: this guards the derivation)
  shared_memory,
};

// The types wgmma multiplies and adds up (PTX ISA, wgmma.mma_async: .dtype, .atype, .btype).
constexpr bool valid_types(DataType a, DataType b, DataType accumulator) {
  using enum DataType;
  if (is_fp8(a)) return is_fp8(b) && accumulator == f32;
  if (a == s8 || a == u8) return (b == s8 || b == u8) && accumulator == s32;
  return a == b && ((accumulator == f32 && (a == bf16 || a == f16 || a == tf32)) || (accumulator == f16 && a == f16));
}
constexpr bool valid_tile_n(DataType accumulator, int n) {
  return n >= 8 && n <= 256 && n % 8 == 0 && (accumulator != DataType::s32 || n % 16 == 0 || n == 8 || n == 24);
}
constexpr int kMaxStageRowBytes = 512;  // K extent of a stage

constexpr ConfigRule config_rule(const KernelConfig& c) {
  using enum ConfigRule;
  if (!valid_types(c.a_type, c.b_type, c.accumulator)) return types;
  // wgmma transposes 16-bit operands alone (PTX ISA, wgmma.mma_async: imm-trans-a, imm-trans-b).
  if (c.element_bytes() != 2 && (c.a_major != Major::k || c.b_major != Major::k)) return major;
  if (c.consumers < 1 || c.consumers > 4) return consumers;
  if (c.schedule == Schedule::pingpong && c.consumers != 2) return consumers;
  if (c.schedule == Schedule::cooperative && c.consumers < 2) return consumers;
  if (c.tile_m <= 0 || c.tile_m % kMmaM || c.warpgroup_m() % kMmaM || c.warpgroup_m() == 0 || c.tile_m > 256) return tile_m;
  if (!c.is_pingpong() && c.tile_m % (kMmaM * c.consumers)) return tile_m;
  if (!valid_tile_n(c.accumulator, c.tile_n)) return tile_n;
  const int a_span = swizzle_span_bytes(c.a_swizzle) / c.element_bytes();
  const int b_span = swizzle_span_bytes(c.b_swizzle) / c.element_bytes();
  if (c.tile_k < c.mma_k() || c.tile_k * c.element_bytes() > kMaxStageRowBytes || c.tile_k % c.mma_k()) return tile_k;
  if (c.a_major == Major::k && c.tile_k % a_span) return tile_k;
  if (c.b_major == Major::k && c.tile_k % b_span) return tile_k;
  if (c.a_major == Major::mn && c.tile_m % a_span) return swizzle;
  if (c.b_major == Major::mn && c.tile_n % b_span) return swizzle;
  if (c.a_stage_bytes() % kTileAlignmentBytes || c.b_stage_bytes() % kTileAlignmentBytes) return swizzle;
  const bool shape_ok =
      c.cluster_m >= 1 && c.cluster_n >= 1 && c.cluster_m * c.cluster_n <= 4 && c.cluster_m != 3 && c.cluster_n != 3;
  if (!shape_ok || (!c.uses_tma() && c.cluster_size() != 1)) return cluster;
  if (c.cluster_k < 1 || c.cluster_k > 8) return cluster;
  if (c.splits_k() && (c.schedule != Schedule::warp_specialized || c.cluster_m * c.cluster_n != 1 ||
                       c.store != Store::direct || c.accumulator == DataType::s32))
    return cluster;
  const int a_rows = c.a_major == Major::k ? c.tile_m : c.tile_k;
  const int b_rows = c.b_major == Major::k ? c.tile_n : c.tile_k;
  if (a_rows % (8 * c.a_sharers()) || b_rows % (8 * c.b_sharers())) return multicast_slice;
  if (c.mmas_in_flight < 0 || c.mmas_in_flight > 1 || c.stages < 2 || c.stages > 32) return stages;
  if (!c.uses_tma() && c.stages < 2 + c.mmas_in_flight) return stages;
  if (c.promote_k < 0) return promotion;
  const bool may_promote = is_fp8(c.a_type) || c.a_type == DataType::tf32;
  if (c.promotes() && (!may_promote || c.tile_k % c.promote_k || c.promote_k % c.mma_k() || c.mmas_in_flight != 0))
    return promotion;
  if (!valid_tile_n(c.accumulator, c.mma_n())) return tile_n;
  if (c.mma_registers() + 24 > c.entry_registers()) return accumulators;
  if (c.free_registers() < 24) return accumulators;
  if (c.moves_registers() &&
      c.consumers * c.consumer_registers() + c.producer_registers() > c.entry_registers() * c.warpgroups())
    return register_pool;
  if (c.shared_bytes() > kSharedMemoryBytes) return shared_memory;
  return valid;
}

}  // namespace hopper_gemm
