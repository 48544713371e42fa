// Turns the first rule a config breaks (core/config.h decides) into a sentence: got, limit, what to do.
#include "hopper_gemm.h"
#include "text.h"

namespace hopper_gemm {
namespace {

std::string stages_text(const KernelConfig& c) {
  if (!c.uses_tma() && c.stages >= 2)
    return text(c.stages, " stages with mmas_in_flight ", c.mmas_in_flight, ": a cp.async ring needs at least ",
                2 + c.mmas_in_flight, ", one to fill, one to read and one per wgmma group in flight");
  if (c.mmas_in_flight < 0 || c.mmas_in_flight > 1) return text("mmas_in_flight ", c.mmas_in_flight, ": it is 0 or 1");
  return text(c.stages, " stages: a ring has 2 to 32");
}

// The largest stage count that fits with the same staging, for the advice in the message.
int stages_that_fit(KernelConfig c) {
  while (c.stages > 0 && c.shared_bytes() > kSharedMemoryBytes) --c.stages;
  return c.stages;
}

std::string shared_memory_text(const KernelConfig& c) {
  const int fit = stages_that_fit(c);
  return text(c.stages, " stages x ", c.stage_bytes(), " bytes + barriers = ", c.fixed_shared_bytes(), " bytes",
              c.store == Store::tma ? text(" + ", c.shared_bytes() - c.fixed_shared_bytes(),
                                           " bytes of output staging = ", c.shared_bytes(), " bytes")
                                    : std::string(),
              ", more than the ", kSharedMemoryBytes, " bytes a CTA can have: ",
              fit >= 2 ? text("use at most ", fit, " stages or a smaller tile") : std::string("use a smaller tile"));
}

std::string accumulators_text(const KernelConfig& c) {
  if (c.mma_registers() + 24 > c.entry_registers())
    return text("one wgmma of N = ", c.mma_n(), " needs ", c.mma_registers(), " accumulator registers + 24 of ",
                c.entry_registers(), " that ", c.threads(), " threads start with: use a smaller tile_n or fewer warpgroups");
  const int cap = c.moves_registers() ? c.consumer_registers() : c.entry_registers();
  return text("a warpgroup's ", c.warpgroup_m(), "x", c.tile_n,
              c.halves_columns() ? " accumulators and half of them again for promotion take "
              : c.promotes()     ? " accumulators, twice for promotion, take "
                                 : " accumulators take ",
              c.accumulator_registers(), " registers + 24 of ", cap,
              " per thread: use a smaller tile or more consumer warpgroups");
}

std::string swizzle_text(const KernelConfig& c) {
  const int a_span = swizzle_span_bytes(c.a_swizzle), b_span = swizzle_span_bytes(c.b_swizzle);
  if (c.a_major == Major::mn && c.tile_m % (a_span / c.element_bytes()))
    return text("tile_m ", c.tile_m, " of the MN-major A is not whole swizzle spans of ", a_span,
                " bytes: use a smaller span");
  if (c.b_major == Major::mn && c.tile_n % (b_span / c.element_bytes()))
    return text("tile_n ", c.tile_n, " of the MN-major B is not whole swizzle spans of ", b_span,
                " bytes: use a smaller span");
  return text("a stage of A takes ", c.a_stage_bytes(), " bytes and of B ", c.b_stage_bytes(),
              ": both must be multiples of ", kTileAlignmentBytes, ", where the swizzle pattern starts again");
}

std::string tile_k_text(const KernelConfig& c) {
  return text(
      "tile_k ", c.tile_k, ": it must be a multiple of ", c.mma_k(), " (one wgmma)",
      c.a_major == Major::k ? text(" and of A's swizzle span of ", swizzle_span_bytes(c.a_swizzle) / c.element_bytes()) : "",
      c.b_major == Major::k ? text(" and of B's swizzle span of ", swizzle_span_bytes(c.b_swizzle) / c.element_bytes()) : "",
      ", at most ", kMaxStageRowBytes / c.element_bytes());
}

std::string promotion_text(const KernelConfig& c) {
  if (c.promotes() && c.mmas_in_flight != 0)
    return text("promote_k ", c.promote_k, " with mmas_in_flight ", c.mmas_in_flight,
                ": sums are read after each stage, so it must be 0");
  if (c.promotes() && !is_fp8(c.a_type) && c.a_type != DataType::tf32)
    return text("promote_k ", c.promote_k, " with ", name_of(c.a_type), ": only fp8 and tf32 sums are promoted");
  return text("promote_k ", c.promote_k, ": it is 0, or a multiple of ", c.mma_k(), " that divides tile_k ", c.tile_k);
}

std::string consumers_text(const KernelConfig& c) {
  const char* allowed = c.schedule == Schedule::pingpong      ? "exactly 2"
                        : c.schedule == Schedule::cooperative ? "2 to 4"
                                                              : "1 to 4";
  return text(c.consumers, " consumer warpgroups: ", name_of(c.schedule), " takes ", allowed);
}

std::string cluster_text(const KernelConfig& c) {
  if (!c.uses_tma())
    return text("cluster ", c.cluster_m, "x", c.cluster_n, ": multistage takes 1x1, because cp.async cannot multicast");
  if (c.splits_k() || c.cluster_k < 1)
    return text("cluster_k ", c.cluster_k, " with cluster ", c.cluster_m, "x", c.cluster_n,
                ": K is split over 1 to 8 CTAs, by ",
                "warp_specialized with a cluster of 1x1, direct store and sums that are not s32 only");
  return text("cluster ", c.cluster_m, "x", c.cluster_n, ": it is one of 1x1, 2x1, 1x2, 2x2, 4x1, 1x4");
}

std::string multicast_text(const KernelConfig& c) {
  const int a_rows = c.a_major == Major::k ? c.tile_m : c.tile_k, b_rows = c.b_major == Major::k ? c.tile_n : c.tile_k;
  return text("cluster ", c.cluster_m, "x", c.cluster_n, " splits A's ", a_rows, " box rows over ", c.a_sharers(),
              " CTAs and B's ", b_rows, " box rows over ", c.b_sharers(), " CTAs: each must load whole groups of 8 rows");
}

std::string register_pool_text(const KernelConfig& c) {
  return text(c.consumers, " x ", c.consumer_registers(), " + ", c.producer_registers(),
              " registers asked for by setmaxnreg, of ", c.entry_registers() * c.warpgroups(),
              " that the CTA holds: it would wait forever");
}

}  // namespace

std::string config_error(const KernelConfig& config) {
  using enum ConfigRule;
  switch (config_rule(config)) {
    case valid: return "";
    case types:
      return text("types ", name_of(config.a_type), " and ", name_of(config.b_type), " with accumulator ",
                  name_of(config.accumulator),
                  ": bf16, f16 or tf32 of both, or any two of e4m3 and e5m2, add up in f32 (f16 also in f16); any two of s8 "
                  "and u8 in s32");
    case major:
      return text(config.a_major == Major::k ? "MN-major B" : "MN-major A", " of type ", name_of(config.a_type),
                  ": wgmma reads operands of 1 and 4 bytes K-major alone; transpose it in memory");
    case tile_m:
      return text("tile_m ", config.tile_m, " with ", config.consumers, " consumer warpgroups: each takes whole blocks of ",
                  kMmaM, " rows, and a tile has at most 256 rows");
    case tile_n:
      return text("tile_n ", config.tile_n, ": wgmma takes N = 8 to 256 in steps of 8",
                  config.accumulator == DataType::s32 ? ", of integers above 32 in steps of 16"
                  : config.halves_columns()           ? ", of promoted sums above 208, in two halves, in steps of 16"
                                                      : "");
    case promotion: return promotion_text(config);
    case tile_k: return tile_k_text(config);
    case swizzle: return swizzle_text(config);
    case consumers: return consumers_text(config);
    case cluster: return cluster_text(config);
    case multicast_slice: return multicast_text(config);
    case stages: return stages_text(config);
    case accumulators: return accumulators_text(config);
    case register_pool: return register_pool_text(config);
    case shared_memory: return shared_memory_text(config);
  }
  return "a rule of config_rule() without a sentence";
}

}  // namespace hopper_gemm
