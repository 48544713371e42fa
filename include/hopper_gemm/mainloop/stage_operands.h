// The operand tiles of a stage as wgmma sees them.
#pragma once
#include "hopper_gemm/core/swizzle.h"
#include "hopper_gemm/mainloop/accumulator.h"
#include "hopper_gemm/pipeline/tma_ring.h"

namespace hopper_gemm {

// The operands of a stage, as rows m_begin ... of the tile see them.
template <class K>
struct StageOperands {
  uint64_t a_descriptor, b_descriptor;

  HG_DEVICE static StageOperands make(const Context<K>& context, int stage, int m_begin) {
    constexpr OperandTile a = a_tile(K::config), b = b_tile(K::config);
    const uint32_t a_address = arch::shared_address(context.shared.a[stage]) + a.offset_bytes(m_begin, 0);
    return {a.descriptor() | descriptor_start(a_address),
            b.descriptor() | descriptor_start(arch::shared_address(context.shared.b[stage]))};
  }
  // One wgmma: 64 rows of block `block` and mma_n() columns from `column` on, from element k of the stage on, into d.
  template <class Registers>
  HG_DEVICE void multiply(Registers& d, int block, int k, bool accumulate, int column = 0) const {
    constexpr KernelConfig c = K::config;
    constexpr OperandTile a = a_tile(c), b = b_tile(c);
    arch::wgmma<c.a_type, c.b_type, c.accumulator, c.mma_n(), c.a_major, c.b_major>(
        d, a_descriptor + (a.offset_bytes(block * kMmaM, k) >> 4), b_descriptor + (b.offset_bytes(column, k) >> 4),
        accumulate);
  }
};

}  // namespace hopper_gemm
