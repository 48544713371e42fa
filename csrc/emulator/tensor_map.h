// What an emulated TensorMap holds: the arguments it was encoded from, behind a tag.
#pragma once
#include "emulator.h"

namespace hopper_gemm::emulator {

// The description in `map`, or null if it was never encoded.
const TensorMapSpec* decoded(const TensorMap& map);

inline uint32_t box_row_bytes(const TensorMapSpec& spec) { return spec.box[0] * element_bytes(spec.type); }
inline uint32_t box_bytes(const TensorMapSpec& spec) { return box_row_bytes(spec) * spec.box[1]; }

// Moves one box between global memory and an image of shared memory that starts at window address `address`.
// Loads fill elements outside the tensor with zeros; stores drop them.
void load_box(const TensorMapSpec& spec, int c0, int c1, unsigned char* image, uint32_t address);
void store_box(const TensorMapSpec& spec, int c0, int c1, const unsigned char* image, uint32_t address);

}  // namespace hopper_gemm::emulator
