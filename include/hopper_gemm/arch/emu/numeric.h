// Conversions between float and the 16-bit formats, bit for bit what the GPU's cvt does (round to nearest even,
// NaN becomes 0x7FFF). Written out because g++ 12 has no bfloat16 and converts _Float16 by slow library calls.
#pragma once
#include <bit>
#include <cstdint>

namespace hopper_gemm::emulator {

inline float float_from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

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

}  // namespace hopper_gemm::emulator
