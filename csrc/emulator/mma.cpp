// Loops written for the vectoriser: k outside, columns inside.
#include "mma.h"

#include <cstring>

#include "hopper_gemm/arch/emu/numeric.h"

namespace hopper_gemm::emulator {

namespace {

void to_floats(const unsigned char* bytes, DataType type, float (&values)[8]) {
  uint16_t bits[8];
  std::memcpy(bits, bytes, sizeof bits);
  if (type == DataType::bf16)
    for (int i = 0; i < 8; ++i) values[i] = float_from_bf16(bits[i]);
  else
    for (int i = 0; i < 8; ++i) values[i] = float_from_f16(bits[i]);
}

}  // namespace

Descriptor Descriptor::decode(uint64_t bits) {
  constexpr Swizzle kModes[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
  const auto field = [bits](int shift) { return static_cast<uint32_t>(bits >> shift & 0x3FFF) << 4; };
  return {field(0), field(16), field(32), kModes[bits >> 62]};
}

std::string descriptor_error(uint64_t bits) {
  constexpr uint64_t kUnused = 3ull << 14 | 3ull << 30 | 7ull << 46 | 0x3FFull << 52;
  if (bits & kUnused) return "unused bits are set (an address above 18 bits?)";
  if (bits >> 49 & 7) return "a base offset is not modelled";
  return {};
}

void read_a(const unsigned char* shared, const Descriptor& d, Major major, DataType type, float (&a)[kMmaM][kMmaK]) {
  for_each_operand_unit(d, major, kMmaM, [&](uint32_t address, int m, int k) {
    float values[8];
    to_floats(shared + address, type, values);
    for (int i = 0; i < 8; ++i) (major == Major::k ? a[m][k + i] : a[m + i][k]) = values[i];
  });
}

void read_b(const unsigned char* shared, const Descriptor& d, Major major, DataType type, int n,
            float (&b)[kMmaK][256]) {
  for_each_operand_unit(d, major, n, [&](uint32_t address, int column, int k) {
    float values[8];
    to_floats(shared + address, type, values);
    for (int i = 0; i < 8; ++i) (major == Major::k ? b[k + i][column] : b[k][column + i]) = values[i];
  });
}

void multiply(const float (&a)[kMmaM][kMmaK], const float (&b)[kMmaK][256], int n, bool accumulate,
              DataType accumulator, float* d) {
  for (int m = 0; m < kMmaM; ++m) {
    float* row = d + m * n;
    if (!accumulate) std::memset(row, 0, n * sizeof(float));
    for (int k = 0; k < kMmaK; ++k) {
      const float factor = a[m][k];
      const float* columns = b[k];
      for (int j = 0; j < n; ++j) row[j] += factor * columns[j];
    }
    if (accumulator == DataType::f16)
      for (int j = 0; j < n; ++j) row[j] = float_from_f16(f16_from_float(row[j]));
  }
}

}  // namespace hopper_gemm::emulator
