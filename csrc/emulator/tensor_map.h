// What an emulated TensorMap holds: the arguments it was encoded from, behind a tag.
#pragma once
#include "emulator.h"
#include "hopper_gemm/core/swizzle.h"

namespace hopper_gemm::emulator {

// The description in `map`, or null if it was never encoded.
const TensorMapSpec* decoded(const TensorMap& map);

inline uint32_t box_row_bytes(const TensorMapSpec& spec) { return spec.box[0] * element_bytes(spec.type); }
inline uint32_t box_bytes(const TensorMapSpec& spec) { return box_row_bytes(spec) * spec.box[1]; }

// Moves one box between global memory and an image of shared memory that starts at window address `address`.
// Loads fill elements outside the tensor with zeros, exactly. Stores clip the innermost dimension at whole 16 bytes: a
// chunk with any element inside is written whole (H200, 2026-11-29; tests/parity); rows and matrices outside are dropped.
void load_box(const TensorMapSpec& spec, int c0, int c1, int c2, unsigned char* image, uint32_t address);
void store_box(const TensorMapSpec& spec, int c0, int c1, int c2, const unsigned char* image, uint32_t address);

// Elements of each row that a store of this box writes beyond the tensor.
int columns_beyond(const TensorMapSpec& spec, int c0);

// Calls unit(image offset, x, y) for each 16-byte unit of the box at (c0, c1) of a matrix: the element it starts with.
template <class Unit>
void for_each_box_unit(const TensorMapSpec& spec, int c0, int c1, uint32_t address, Unit unit) {
  const int bytes = element_bytes(spec.type);
  const uint32_t row_bytes = box_row_bytes(spec);
  for (uint32_t row = 0; row < spec.box[1]; ++row)
    for (uint32_t b = 0; b < row_bytes; b += 16)
      unit(swizzled(spec.swizzle, address + row * row_bytes + b) - address, c0 + static_cast<int>(b) / bytes,
           c1 + static_cast<int>(row));
}

}  // namespace hopper_gemm::emulator
