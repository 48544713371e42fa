// Where an element of an operand tile lies in shared memory, and the 64-bit matrix descriptor that says so to wgmma
// (PTX ISA: "Asynchronous warpgroup level matrix shared memory layout", "Matrix descriptor format").
//
// A tile is a row of boxes, one TMA box (or cp.async equivalent) each. A box is `rows` rows of S bytes, S = swizzle span
// (128, 64, 32, or 16 for no swizzle):
//   K-major : S bytes of K in a row, one row per M (or N) index;  boxes follow each other along K
//   MN-major: S bytes of M (or N) in a row, one row per K index;  boxes follow each other along M (or N)
// Inside a box the 16-byte chunk c of row r lies at chunk (c XOR f(r)): address bits [6:4] ^= bits [9:7] for 128 B,
// [5:4] ^= [8:7] for 64 B, [4] ^= [7] for 32 B. A tile starts at a multiple of 1024 bytes, where the pattern starts.
#pragma once
#include "hopper_gemm/core/config.h"

namespace hopper_gemm {

// The swizzled place of an (unswizzled) shared-memory byte address.
constexpr uint32_t swizzled(Swizzle swizzle, uint32_t address) {
  const uint32_t mask = (1u << static_cast<int>(swizzle)) - 1;  // none 0, 32 B 1, 64 B 3, 128 B 7
  return address ^ (((address >> 7) & mask) << 4);
}

// One operand's tile: extents in elements; `mn` is M for A and N for B.
struct OperandTile {
  Major major;
  Swizzle swizzle;
  int element_bytes;
  int mn, k;

  constexpr int span_bytes() const { return swizzle_span_bytes(swizzle); }
  constexpr int span() const { return span_bytes() / element_bytes; }  // elements in a box row
  constexpr int rows() const { return major == Major::k ? mn : k; }    // rows of a box
  constexpr int boxes() const { return (major == Major::k ? k : mn) / span(); }
  constexpr int box_bytes() const { return rows() * span_bytes(); }

  // Leading and stride byte offsets; swizzled K-major ignores the leading one.
  constexpr int leading_bytes() const {
    if (major == Major::k) return swizzle == Swizzle::none ? box_bytes() : 16;
    return swizzle == Swizzle::none ? 8 * span_bytes() : box_bytes();
  }
  constexpr int stride_bytes() const {
    if (major == Major::mn && swizzle == Swizzle::none) return box_bytes();
    return 8 * span_bytes();
  }

  // The descriptor without its start address.
  constexpr uint64_t descriptor() const {
    constexpr uint64_t modes[] = {0, 3, 2, 1};  // none, 32 B, 64 B, 128 B
    return static_cast<uint64_t>(leading_bytes() >> 4) << 16 | static_cast<uint64_t>(stride_bytes() >> 4) << 32 |
           modes[static_cast<int>(swizzle)] << 62;
  }

  // Bytes from the tile's start to the part one wgmma reads: row (or column) `mn_begin`, k element `k_begin`.
  // Both are multiples of what a wgmma covers, so the result keeps the swizzle pattern's phase.
  constexpr int offset_bytes(int mn_begin, int k_begin) const {
    if (major == Major::k)
      return k_begin / span() * box_bytes() + mn_begin * span_bytes() + k_begin % span() * element_bytes;
    return mn_begin / span() * box_bytes() + k_begin * span_bytes();
  }
};

constexpr OperandTile a_tile(const KernelConfig& c) {
  return {c.a_major, c.a_swizzle, c.element_bytes(), c.tile_m, c.tile_k};
}
constexpr OperandTile b_tile(const KernelConfig& c) {
  return {c.b_major, c.b_swizzle, c.element_bytes(), c.tile_n, c.tile_k};
}

// A descriptor's start-address field for a shared-memory byte address (18 bits, 16-byte units).
constexpr uint64_t descriptor_start(uint32_t address) { return (address & 0x3FFFF) >> 4; }

}  // namespace hopper_gemm
