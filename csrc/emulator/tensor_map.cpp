// Encoding with the rules of cuTensorMapEncodeTiled, and the box copies.
#include "tensor_map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "hopper_gemm/arch/emu/numeric.h"

namespace hopper_gemm::emulator {

namespace {

constexpr uint64_t kTag = 0x7E4502A9C0DEDull;

struct Encoded {
  uint64_t tag;
  TensorMapSpec spec;
};
static_assert(sizeof(Encoded) <= sizeof(TensorMap));

// Calls copy(image offset, global address, first, last) for each 16-byte unit of the box: bytes first .. last - 1 of it
// lie in columns 0 .. columns - 1 of the tensor's rows.
template <class Copy>
void for_each_unit(const TensorMapSpec& spec, int c0, int c1, int c2, uint32_t address, int64_t columns, Copy copy) {
  const int bytes = element_bytes(spec.type);
  const bool matrix_inside = c2 >= 0 && c2 < static_cast<int64_t>(spec.batches);
  for_each_box_unit(spec, c0, c1, address, [&](uint32_t offset, int x, int y) {
    const bool row_inside = matrix_inside && y >= 0 && y < static_cast<int64_t>(spec.extent[1]);
    const int64_t from_origin = c2 * static_cast<int64_t>(spec.batch_bytes) + y * static_cast<int64_t>(spec.pitch_bytes) +
                                static_cast<int64_t>(x) * bytes;
    const int64_t first = std::clamp<int64_t>(-int64_t{x}, 0, 16 / bytes);
    const int64_t last = std::clamp<int64_t>(columns - x, 0, 16 / bytes);
    copy(offset, static_cast<unsigned char*>(spec.address) + from_origin, row_inside ? first * bytes : 0,
         row_inside ? std::max(first, last) * bytes : 0);
  });
}

// Four floats in place. A map of TFLOAT32 rounds to nearest even on load, and every NaN becomes the same one (H200,
// 2026-11-30; tests/parity has the case).
void round_to_tf32(unsigned char* unit) {
  constexpr uint32_t kNan = 0x7FFFE000;
  float values[4];
  std::memcpy(values, unit, sizeof values);
  for (float& value : values) value = std::isnan(value) ? std::bit_cast<float>(kNan) : tf32_from_float(value);
  std::memcpy(unit, values, sizeof values);
}

// Columns that a store can reach: whole 16 bytes.
int64_t stored_columns(const TensorMapSpec& spec) {
  const int64_t chunk = 16 / element_bytes(spec.type);
  return (static_cast<int64_t>(spec.extent[0]) + chunk - 1) / chunk * chunk;
}

}  // namespace

TensorMap encode_tensor_map(const TensorMapSpec& spec) {
  const auto reject = [](const std::string& rule, uint64_t got) {
    throw Error(Error::Kind::value, "tensor map: " + rule + ", got " + std::to_string(got));
  };
  const uint64_t row_bytes = static_cast<uint64_t>(spec.box[0]) * element_bytes(spec.type);
  if (reinterpret_cast<uintptr_t>(spec.address) % 16 != 0)
    reject("the address must be a multiple of 16", reinterpret_cast<uintptr_t>(spec.address) % 16);
  for (const uint64_t extent : spec.extent)
    if (extent < 1 || extent > uint64_t{1} << 32) reject("an extent must be 1 to 2^32", extent);
  if (spec.batches < 1 || spec.batches > uint64_t{1} << 32) reject("an extent must be 1 to 2^32", spec.batches);
  if (spec.batch_bytes % 16 != 0) reject("the bytes between matrices must be a multiple of 16", spec.batch_bytes);
  if (spec.batch_bytes >= uint64_t{1} << 40) reject("the bytes between matrices must be below 2^40", spec.batch_bytes);
  if (spec.pitch_bytes % 16 != 0) reject("the row pitch in bytes must be a multiple of 16", spec.pitch_bytes);
  if (spec.pitch_bytes >= uint64_t{1} << 40) reject("the row pitch in bytes must be below 2^40", spec.pitch_bytes);
  for (const uint32_t box : spec.box)
    if (box < 1 || box > 256) reject("a box extent must be 1 to 256", box);
  if (row_bytes % 16 != 0) reject("a box row must be a multiple of 16 bytes", row_bytes);
  if (spec.swizzle != Swizzle::none && row_bytes > static_cast<uint64_t>(swizzle_span_bytes(spec.swizzle)))
    reject("a box row must fit into the swizzle span of " + std::to_string(swizzle_span_bytes(spec.swizzle)) + " bytes",
           row_bytes);
  TensorMap map{};
  const Encoded encoded{kTag, spec};
  std::memcpy(map.opaque, &encoded, sizeof encoded);
  return map;
}

const TensorMapSpec* decoded(const TensorMap& map) {
  const Encoded* encoded = reinterpret_cast<const Encoded*>(map.opaque);
  return encoded->tag == kTag ? &encoded->spec : nullptr;
}

void load_box(const TensorMapSpec& spec, int c0, int c1, int c2, unsigned char* image, uint32_t address) {
  const auto columns = static_cast<int64_t>(spec.extent[0]);
  for_each_unit(spec, c0, c1, c2, address, columns,
                [&](uint32_t offset, const unsigned char* global, int64_t first, int64_t last) {
                  if (last - first != 16) std::memset(image + offset, 0, 16);
                  std::memcpy(image + offset + first, global + first, last - first);
                  if (spec.type == DataType::tf32) round_to_tf32(image + offset);
                });
}

void store_box(const TensorMapSpec& spec, int c0, int c1, int c2, const unsigned char* image, uint32_t address) {
  for_each_unit(spec, c0, c1, c2, address, stored_columns(spec),
                [&](uint32_t offset, unsigned char* global, int64_t first, int64_t last) {
                  std::memcpy(global + first, image + offset + first, last - first);
                });
}

int columns_beyond(const TensorMapSpec& spec, int c0) {
  const int64_t end = std::min<int64_t>(stored_columns(spec), static_cast<int64_t>(c0) + spec.box[0]);
  return static_cast<int>(std::max<int64_t>(0, end - static_cast<int64_t>(spec.extent[0])));
}

}  // namespace hopper_gemm::emulator
