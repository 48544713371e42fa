// Loops written for the vectoriser: k outside, columns inside.
#include "mma.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hopper_gemm/arch/emu/numeric.h"

namespace hopper_gemm::emulator {

namespace {

constexpr int kFp8SumBits = 13;  // kept below the leading bit of the largest term

// The elements of a 16-byte unit, by type; returns how many.
int to_floats(const unsigned char* bytes, DataType type, float (&values)[16]) {
  const int count = 16 / element_bytes(type);
  for (int i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes + i * element_bytes(type), element_bytes(type));
    switch (type) {
      case DataType::bf16: values[i] = float_from_bf16(static_cast<uint16_t>(bits)); break;
      case DataType::f16: values[i] = float_from_f16(static_cast<uint16_t>(bits)); break;
      case DataType::tf32: values[i] = tf32_read(bits); break;
      case DataType::e4m3: values[i] = float_from_e4m3(static_cast<uint8_t>(bits)); break;
      case DataType::e5m2: values[i] = float_from_e5m2(static_cast<uint8_t>(bits)); break;
      case DataType::s8: values[i] = static_cast<int8_t>(bits); break;
      case DataType::u8: values[i] = static_cast<float>(bits); break;
      case DataType::f32:
      case DataType::s32: break;  // no operands of wgmma
    }
  }
  return count;
}

// The value cut off below `unit`, a power of two.
float cut(float value, float unit) { return std::trunc(value / unit) * unit; }

float unit_below(int exponent) { return std::ldexp(1.0f, exponent - kFp8SumBits); }

// Exponents of both operands. A product is aligned by the sum of its factors' exponents, which is one less than its own
// where the fractions multiply to 2 or more.
struct Exponents {
  static constexpr int kNone = -1000;  // of 0
  int a[kMmaM][kMaxMmaK], b[kMaxMmaK][256];

  static int of(float value) { return value == 0 || !std::isfinite(value) ? kNone : std::ilogb(value); }
  void read(const MmaOperands& operands, int n) {
    for (int m = 0; m < kMmaM; ++m)
      for (int k = 0; k < kMaxMmaK; ++k) a[m][k] = of(operands.a[m][k]);
    for (int k = 0; k < kMaxMmaK; ++k)
      for (int j = 0; j < n; ++j) b[k][j] = of(operands.b[k][j]);
  }
};

// One element of an fp8 product.
float fp8_sum(const MmaOperands& operands, const Exponents& exponents, int m, int column, float accumulator) {
  float terms[kMaxMmaK];
  int largest = Exponents::of(accumulator);
  bool finite = std::isfinite(accumulator);
  for (int k = 0; k < kMaxMmaK; ++k) {
    terms[k] = operands.a[m][k] * operands.b[k][column];
    largest = std::max(largest, exponents.a[m][k] + exponents.b[k][column]);
    finite &= std::isfinite(terms[k]);
  }
  float sum = accumulator;
  if (!finite || largest <= Exponents::kNone / 2) {
    for (const float term : terms) sum += term;
    return sum;
  }
  const float unit = unit_below(largest);
  double exact = cut(accumulator, unit);
  for (const float term : terms) exact += cut(term, unit);
  if (exact == 0) return 0;
  sum = static_cast<float>(exact);
  return cut(sum, std::max(unit, unit_below(std::ilogb(sum))));
}

void multiply_integers(const float* row, const float (&b)[kMaxMmaK][256], int n, float* sums) {
  float product[256] = {};  // at most 32 * 255 * 255: exact
  for (int k = 0; k < kMaxMmaK; ++k)
    for (int j = 0; j < n; ++j) product[j] += row[k] * b[k][j];
  for (int j = 0; j < n; ++j) {
    uint32_t bits;
    std::memcpy(&bits, sums + j, sizeof bits);
    bits += static_cast<uint32_t>(static_cast<int32_t>(product[j]));
    std::memcpy(sums + j, &bits, sizeof bits);
  }
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

void read_operands(const unsigned char* shared, const WgmmaCall& call, MmaOperands& operands) {
  float values[16];
  const Descriptor a = Descriptor::decode(call.descriptor_a), b = Descriptor::decode(call.descriptor_b);
  for_each_operand_unit(a, call.a_major, call.a_type, kMmaM, [&](uint32_t address, int m, int k) {
    const int count = to_floats(shared + address, call.a_type, values);
    for (int i = 0; i < count; ++i) (call.a_major == Major::k ? operands.a[m][k + i] : operands.a[m + i][k]) = values[i];
  });
  for_each_operand_unit(b, call.b_major, call.b_type, call.n, [&](uint32_t address, int n, int k) {
    const int count = to_floats(shared + address, call.b_type, values);
    for (int i = 0; i < count; ++i) (call.b_major == Major::k ? operands.b[k + i][n] : operands.b[k][n + i]) = values[i];
  });
}

void multiply(const MmaOperands& operands, const WgmmaCall& call, float* d) {
  const int extent_k = kMmaKBytes / element_bytes(call.a_type), n = call.n;
  static Exponents exponents;  // one machine at a time
  const bool fp8 = is_fp8(call.a_type);
  if (fp8) exponents.read(operands, n);
  for (int m = 0; m < kMmaM; ++m) {
    float* row = d + m * n;
    const float* factors = operands.a[m];
    if (!call.accumulate) std::memset(row, 0, n * sizeof(float));
    if (call.accumulator == DataType::s32) {
      multiply_integers(factors, operands.b, n, row);
      continue;
    }
    if (fp8) {
      for (int j = 0; j < n; ++j) row[j] = fp8_sum(operands, exponents, m, j, row[j]);
      continue;
    }
    for (int k = 0; k < extent_k; ++k) {
      const float factor = factors[k];
      const float* columns = operands.b[k];
      for (int j = 0; j < n; ++j) row[j] += factor * columns[j];
    }
    if (call.accumulator == DataType::f16)
      for (int j = 0; j < n; ++j) row[j] = float_from_f16(f16_from_float(row[j]));
  }
}

}  // namespace hopper_gemm::emulator
