// Conversions between float and the narrow formats, bit for bit what the GPU's cvt does (round to nearest even,
// NaN becomes 0x7FFF, or 0x7F). Written out because g++ 12 has no bfloat16 and converts _Float16 by slow library calls.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace hopper_gemm::emulator {

inline float float_from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Subnormals become 0, as in the instructions with .ftz.
inline float flushed(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }

inline float float_from_f16(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7FFFu;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  // Scaling by 2^112 moves the exponent bias from 15 to 127 and normalises subnormals exactly.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = 0x7F800000u | magnitude << 13;  // infinity or NaN
  return std::bit_cast<float>((magnitude >= 0x7C00u ? special : std::bit_cast<uint32_t>(scaled)) | sign);
}

inline uint16_t bf16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

inline uint16_t f16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t sign = bits >> 16 & 0x8000u;
  if (magnitude > 0x7F800000u) return 0x7FFF;
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7C00u);  // 65536 and above
  if (magnitude < 0x38800000u) {  // below 2^-14: the spacing of floats near 0.5 is that of f16 subnormals
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
  }
  return static_cast<uint16_t>(sign | (magnitude + 0xFFFu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13);
}

// e5m2 is the upper half of f16.
inline float float_from_e5m2(uint8_t bits) { return float_from_f16(static_cast<uint16_t>(bits << 8)); }

// Sign, 4 bits of exponent with bias 7, 3 bits; no infinity: the largest magnitude is NaN.
inline float float_from_e4m3(uint8_t bits) {
  const uint32_t magnitude = bits & 0x7Fu;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;  // bias 7 to 127, subnormals exactly
  return std::bit_cast<float>((magnitude == 0x7Fu ? 0x7FC00000u : std::bit_cast<uint32_t>(scaled)) | sign);
}

// Rounds to nearest even and saturates: infinities and what is too large become the largest finite number, as
// cvt.satfinite does. NaN stays NaN.
inline uint8_t fp8_from_float(float value, int mantissa_bits, int bias, uint8_t largest) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint8_t sign = static_cast<uint8_t>(bits >> 24 & 0x80u);
  if (magnitude > 0x7F800000u) return 0x7F;
  const uint32_t smallest = static_cast<uint32_t>(128 - bias) << 23;  // the smallest normal number
  uint32_t rounded;
  if (magnitude < smallest) {  // adding 2^(23 + 1 - bias - mantissa_bits) leaves the subnormal's bits at the bottom
    const float shift = std::bit_cast<float>(static_cast<uint32_t>(127 + 24 - bias - mantissa_bits) << 23);
    rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + shift) - std::bit_cast<uint32_t>(shift);
  } else {
    const int cut = 23 - mantissa_bits;
    const uint32_t half = (1u << (cut - 1)) - 1;
    rounded = (magnitude + half + (magnitude >> cut & 1u) - (static_cast<uint32_t>(127 - bias) << 23)) >> cut;
  }
  return sign | static_cast<uint8_t>(rounded > largest ? largest : rounded);
}
inline uint8_t e4m3_from_float(float value) { return fp8_from_float(value, 3, 7, 0x7E); }
inline uint8_t e5m2_from_float(float value) { return fp8_from_float(value, 2, 15, 0x7B); }

// Float to the nearest float of 10 mantissa bits, ties to even; infinities and NaN stay.
inline float tf32_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7F800000u) == 0x7F800000u) return value;
  return std::bit_cast<float>((bits + 0xFFFu + (bits >> 13 & 1u)) & ~0x1FFFu);
}
// What wgmma reads of a 32-bit operand.
inline float tf32_read(uint32_t bits) { return std::bit_cast<float>(bits & ~0x1FFFu); }

}  // namespace hopper_gemm::emulator
