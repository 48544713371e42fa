// Ordinary data movement: cp.async, stmatrix, global stores, packing (PTX ISA: cp.async, stmatrix, cvt).
#pragma once
#include "hopper_gemm/arch/ptx/thread.h"

namespace hopper_gemm::arch {

// Shared memory that is read before anything writes it, for results that nobody keeps. The emulator wants to be told, and
// makes NaNs of it.
HG_DEVICE void leave_undefined(void* /*shared*/, int /*bytes*/) {}

// 16 bytes global -> shared; the first valid_bytes are read, the rest become zero. Both addresses 16-byte aligned.
HG_DEVICE void cp_async_16(void* destination, const void* source, uint32_t valid_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(destination)), "l"(source),
               "r"(valid_bytes)
               : "memory");
}
HG_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kGroups>
HG_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

// Rounds four floats of this CTA's shared memory to tf32 in place, to nearest even, as TMA does (cvt.rna.tf32 would round
// ties away; cvt.rn.tf32 needs sm_100). Infinities and NaN stay.
HG_DEVICE void round_tf32(void* address) {
  uint4& unit = *reinterpret_cast<uint4*>(address);
  uint4 bits = unit;
  const auto rounded = [](uint32_t b) {
    return (b & 0x7F800000u) == 0x7F800000u ? b : (b + 0xFFFu + (b >> 13 & 1u)) & ~0x1FFFu;
  };
  bits = {rounded(bits.x), rounded(bits.y), rounded(bits.z), rounded(bits.w)};
  unit = bits;
}

// Four 8x8 matrices of 16-bit elements; lane i gives the address of row i%8 of matrix i/8 (16-byte aligned).
HG_DEVICE void stmatrix_x4(void* row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(r0),
               "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
// Two matrices: lanes 0..15 give the addresses.
HG_DEVICE void stmatrix_x2(void* row, uint32_t r0, uint32_t r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" ::"r"(shared_address(row)), "r"(r0), "r"(r1)
               : "memory");
}

// The same with every matrix transposed: lane i gives the address of column i%8 of matrix i/8.
HG_DEVICE void stmatrix_x4_transposed(void* column, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(column)),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
HG_DEVICE void stmatrix_x2_transposed(void* column, uint32_t r0, uint32_t r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%0], {%1, %2};" ::"r"(shared_address(column)), "r"(r0),
               "r"(r1)
               : "memory");
}

// 16 bytes of whatever they are.
struct alignas(16) Piece {
  uint32_t word[4];
};

// Ordinary accesses to this CTA's shared memory: 16 bytes, and loads of 2.
template <class T>
HG_DEVICE void shared_store(T& to, T value) {
  static_assert(sizeof(T) == 16);
  to = value;
}
template <class T>
HG_DEVICE T shared_load(const T& from) {
  static_assert(sizeof(T) == 16 || sizeof(T) == 2);
  return from;
}

// An ordinary global load; T is 1, 2, 4, 8 or 16 bytes and `address` aligned to it.
template <class T>
HG_DEVICE T load_global(const T* address) {
  return *address;
}

struct alignas(8) Float2 {
  float low, high;
};

// The same, but reads nothing and gives 0 unless `inside`; T is uint16_t, uint32_t, float or Float2. A predicate, not a
// branch, so that the loads of a loop are in flight together.
HG_DEVICE float load_global_if(const float* address, bool inside) {
  float value;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\nmov.f32 %0, 0f00000000;\n@p ld.global.f32 %0, [%1];\n}"
               : "=f"(value)
               : "l"(address), "r"(static_cast<int>(inside)));
  return value;
}
HG_DEVICE Float2 load_global_if(const Float2* address, bool inside) {
  Float2 value;
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\nmov.f32 %0, 0f00000000;\nmov.f32 %1, 0f00000000;\n"
      "@p ld.global.v2.f32 {%0, %1}, [%2];\n}"
      : "=f"(value.low), "=f"(value.high)
      : "l"(address), "r"(static_cast<int>(inside)));
  return value;
}
HG_DEVICE uint32_t load_global_if(const uint32_t* address, bool inside) {
  uint32_t value;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\nmov.b32 %0, 0;\n@p ld.global.b32 %0, [%1];\n}"
               : "=r"(value)
               : "l"(address), "r"(static_cast<int>(inside)));
  return value;
}
HG_DEVICE uint16_t load_global_if(const uint16_t* address, bool inside) {
  uint16_t value;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\nmov.b16 %0, 0;\n@p ld.global.u16 %0, [%1];\n}"
               : "=h"(value)
               : "l"(address), "r"(static_cast<int>(inside)));
  return value;
}

// Asks for a line of global memory to be brought to L2: a hint, that reads nothing (PTX ISA, prefetch).
HG_DEVICE void prefetch_to_l2(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }

// An ordinary global store; T is 1, 2, 4, 8 or 16 bytes and `address` aligned to it.
template <class T>
HG_DEVICE void store_global(T* address, T value) {
  *address = value;
}

// Round to nearest even and pack; `low` is the lower half (the lower column). cvt's first source is the upper half.
HG_DEVICE uint32_t pack_bf16x2(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
HG_DEVICE uint32_t pack_f16x2(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
// The same to fp8: two bytes. What is too large becomes the largest finite number, infinities too; NaN stays NaN.
HG_DEVICE uint16_t pack_e4m3x2(float low, float high) {
  uint16_t packed;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  return packed;
}
HG_DEVICE uint16_t pack_e5m2x2(float low, float high) {
  uint16_t packed;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  return packed;
}
// The bits of a 32-bit register as a float.
HG_DEVICE float float_of_bits(uint32_t bits) { return __uint_as_float(bits); }
// The two f16 halves of `packed` as floats, exactly.
HG_DEVICE float f16_low(uint32_t packed) {
  float value;
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %1;\ncvt.f32.f16 %0, l;\n}" : "=f"(value) : "r"(packed));
  return value;
}
HG_DEVICE float f16_high(uint32_t packed) {
  float value;
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %1;\ncvt.f32.f16 %0, h;\n}" : "=f"(value) : "r"(packed));
  return value;
}

// The two bf16 halves of `packed` as floats, exactly.
HG_DEVICE float bf16_low(uint32_t packed) { return __uint_as_float(packed << 16); }
HG_DEVICE float bf16_high(uint32_t packed) { return __uint_as_float(packed & 0xFFFF0000u); }

// 2^x and 1 / x of the special-function unit: 2 and 1 units in the last place (PTX ISA, ex2.approx and rcp.approx),
// subnormal results are 0, infinities and NaN as in IEEE arithmetic.
HG_DEVICE float exp2(float x) {
  float value;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}
// The greater one; NaN if one of them is.
HG_DEVICE float maximum(float x, float y) {
  float value;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(x), "f"(y));
  return value;
}
HG_DEVICE float reciprocal(float x) {
  float value;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}

}  // namespace hopper_gemm::arch
