// Emulated counterpart of arch/ptx/copy.h: cp.async, stmatrix, global stores, packing.
#pragma once
#include <bit>
#include <cmath>
#include <type_traits>

#include "hopper_gemm/arch/emu/numeric.h"
#include "hopper_gemm/arch/emu/thread.h"

namespace hopper_gemm::arch {

// Shared memory that is read before anything writes it, for results that nobody keeps: NaNs.
HG_DEVICE void leave_undefined(void* shared, int bytes, emulator::Line line = emulator::Line::current()) {
  emulator::leave_undefined(shared, bytes, line);
}

// 16 bytes global -> shared; the first valid_bytes are read, the rest become zero. Both addresses 16-byte aligned.
HG_DEVICE void cp_async_16(void* destination, const void* source, uint32_t valid_bytes,
                           emulator::Line line = emulator::Line::current()) {
  emulator::cp_async_16(destination, source, valid_bytes, line);
}
HG_DEVICE void cp_async_commit(emulator::Line line = emulator::Line::current()) { emulator::cp_async_commit(line); }
template <int kGroups>
HG_DEVICE void cp_async_wait(emulator::Line line = emulator::Line::current()) {
  emulator::cp_async_wait(kGroups, line);
}

// Rounds four floats of this CTA's shared memory to tf32 in place, to nearest even: an ordinary read and write.
HG_DEVICE void round_tf32(void* address, emulator::Line line = emulator::Line::current()) {
  emulator::round_tf32(address, line);
}

// Four 8x8 matrices of 16-bit elements; lane i gives the address of row i%8 of matrix i/8 (16-byte aligned).
HG_DEVICE void stmatrix_x4(void* row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3,
                           emulator::Line line = emulator::Line::current()) {
  const uint32_t registers[] = {r0, r1, r2, r3};
  emulator::stmatrix(row, registers, 4, false, line);
}
// Two matrices: lanes 0..15 give the addresses.
HG_DEVICE void stmatrix_x2(void* row, uint32_t r0, uint32_t r1, emulator::Line line = emulator::Line::current()) {
  const uint32_t registers[] = {r0, r1};
  emulator::stmatrix(row, registers, 2, false, line);
}
// The same with every matrix transposed: lane i gives the address of column i%8 of matrix i/8.
HG_DEVICE void stmatrix_x4_transposed(void* column, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3,
                                      emulator::Line line = emulator::Line::current()) {
  const uint32_t registers[] = {r0, r1, r2, r3};
  emulator::stmatrix(column, registers, 4, true, line);
}
HG_DEVICE void stmatrix_x2_transposed(void* column, uint32_t r0, uint32_t r1,
                                      emulator::Line line = emulator::Line::current()) {
  const uint32_t registers[] = {r0, r1};
  emulator::stmatrix(column, registers, 2, true, line);
}

// 16 bytes of whatever they are.
struct alignas(16) Piece {
  uint32_t word[4];
};

// Ordinary accesses to this CTA's shared memory: 16 bytes, and loads of 2.
template <class T>
HG_DEVICE void shared_store(T& to, T value, emulator::Line line = emulator::Line::current()) {
  static_assert(sizeof(T) == 16);
  emulator::shared_store(&to, &value, line);
}
template <class T>
HG_DEVICE T shared_load(const T& from, emulator::Line line = emulator::Line::current()) {
  static_assert(sizeof(T) == 16 || sizeof(T) == 2);
  T value;
  emulator::shared_load(&from, &value, sizeof(T), line);
  return value;
}

// An ordinary global load; T is 1, 2, 4, 8 or 16 bytes and `address` aligned to it.
template <class T>
HG_DEVICE T load_global(const T* address, emulator::Line line = emulator::Line::current()) {
  T value;
  emulator::load_global(address, &value, sizeof(T), line);
  return value;
}

struct alignas(8) Float2 {
  float low, high;
};

// The same, but reads nothing and gives 0 unless `inside`; T is uint16_t, uint32_t, float or Float2.
template <class T>
HG_DEVICE T load_global_if(const T* address, bool inside, emulator::Line line = emulator::Line::current()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || std::is_same_v<T, Float2>);
  return inside ? load_global(address, line) : T{};
}

// A hint, but of an address that may be read.
HG_DEVICE void prefetch_to_l2(const void* address, emulator::Line line = emulator::Line::current()) {
  emulator::prefetch_to_l2(address, line);
}

// An ordinary global store; T is 1, 2, 4, 8 or 16 bytes and `address` aligned to it.
template <class T>
HG_DEVICE void store_global(T* address, T value, emulator::Line line = emulator::Line::current()) {
  emulator::store_global(address, &value, sizeof(T), line);
}

// Round to nearest even and pack; `low` is the lower half (the lower column).
HG_DEVICE uint32_t pack_bf16x2(float low, float high, emulator::Line line = emulator::Line::current()) {
  if (std::bit_cast<uint32_t>(low) == emulator::kPoisonFloat) emulator::poisoned_accumulator(line);
  return emulator::bf16_from_float(low) | static_cast<uint32_t>(emulator::bf16_from_float(high)) << 16;
}
HG_DEVICE uint32_t pack_f16x2(float low, float high, emulator::Line line = emulator::Line::current()) {
  if (std::bit_cast<uint32_t>(low) == emulator::kPoisonFloat) emulator::poisoned_accumulator(line);
  return emulator::f16_from_float(low) | static_cast<uint32_t>(emulator::f16_from_float(high)) << 16;
}
// The same to fp8: two bytes. What is too large becomes the largest finite number, infinities too; NaN stays NaN.
HG_DEVICE uint16_t pack_e4m3x2(float low, float high, emulator::Line line = emulator::Line::current()) {
  if (std::bit_cast<uint32_t>(low) == emulator::kPoisonFloat) emulator::poisoned_accumulator(line);
  return static_cast<uint16_t>(emulator::e4m3_from_float(low) | emulator::e4m3_from_float(high) << 8);
}
HG_DEVICE uint16_t pack_e5m2x2(float low, float high, emulator::Line line = emulator::Line::current()) {
  if (std::bit_cast<uint32_t>(low) == emulator::kPoisonFloat) emulator::poisoned_accumulator(line);
  return static_cast<uint16_t>(emulator::e5m2_from_float(low) | emulator::e5m2_from_float(high) << 8);
}
// The bits of a 32-bit register as a float.
HG_DEVICE float float_of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
// The two f16 halves of `packed` as floats, exactly. Poison stays poison: who uses it is reported, who drops it is not.
HG_DEVICE float f16_low(uint32_t packed) {
  if (packed == emulator::kPoisonHalves) return std::bit_cast<float>(emulator::kPoisonFloat);
  return emulator::float_from_f16(static_cast<uint16_t>(packed));
}
HG_DEVICE float f16_high(uint32_t packed) {
  if (packed == emulator::kPoisonHalves) return std::bit_cast<float>(emulator::kPoisonFloat);
  return emulator::float_from_f16(static_cast<uint16_t>(packed >> 16));
}

// The two bf16 halves of `packed` as floats, exactly.
HG_DEVICE float bf16_low(uint32_t packed) { return emulator::float_from_bf16(static_cast<uint16_t>(packed)); }
HG_DEVICE float bf16_high(uint32_t packed) { return emulator::float_from_bf16(static_cast<uint16_t>(packed >> 16)); }

// 2^x and 1 / x, correctly rounded here and to one or two units in the last place on the GPU; subnormal results are 0.
HG_DEVICE float exp2(float x) { return emulator::flushed(std::exp2(x)); }
// The greater one; NaN if one of them is.
HG_DEVICE float maximum(float x, float y) { return std::isnan(x) || x > y ? x : y; }
HG_DEVICE float reciprocal(float x) { return emulator::flushed(1.0f / emulator::flushed(x)); }

}  // namespace hopper_gemm::arch
