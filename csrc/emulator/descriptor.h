// The 64-bit shared-memory matrix descriptor of wgmma, decoded (PTX ISA, "Matrix descriptor format" and "Strides";
// checked against CuTe's layouts). The only place that knows where an operand's elements lie.
#pragma once
#include <cstdint>
#include <string>

#include "hopper_gemm/core/swizzle.h"

namespace hopper_gemm::emulator {

constexpr int kMaxMmaK = kMmaKBytes;  // elements of K of one wgmma: of 1-byte operands

struct Descriptor {
  uint32_t start, leading_bytes, stride_bytes;
  Swizzle swizzle;

  static Descriptor decode(uint64_t bits);
};

// Empty, or what is wrong with the descriptor on its own.
std::string descriptor_error(uint64_t bits);

// Calls unit(address, mn, k) for every 16-byte unit of an operand of `extent` rows of M or N by 32 bytes of K: the elements
// that start at (mn, k) and run along K (K-major) or along M/N (16-bit types alone). Addresses are in the shared window.
template <class Unit>
void for_each_operand_unit(const Descriptor& d, Major major, DataType type, int extent, Unit unit) {
  const uint32_t span = swizzle_span_bytes(d.swizzle);
  const bool plain = d.swizzle == Swizzle::none;
  if (major == Major::k) {
    for (int r = 0; r < extent; ++r)
      for (int half = 0; half < 2; ++half) {
        const uint32_t row = d.start + r / 8 * d.stride_bytes + r % 8 * span;
        unit(swizzled(d.swizzle, row + half * (plain ? d.leading_bytes : 16)), r, half * (16 / element_bytes(type)));
      }
  } else {
    for (int k = 0; k < kMmaKBytes / 2; ++k)
      for (int r = 0; r < extent; r += 8) {
        const uint32_t column = r * 2 % span + r * 2 / span * (plain ? d.stride_bytes : d.leading_bytes);
        const uint32_t row = k % 8 * span + k / 8 * (plain ? d.leading_bytes : d.stride_bytes);
        unit(swizzled(d.swizzle, d.start + column + row), r, k);
      }
  }
}

}  // namespace hopper_gemm::emulator
