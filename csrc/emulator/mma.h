// The arithmetic of one wgmma: operands to floats, then a plain matrix product.
#pragma once
#include "descriptor.h"
#include "hopper_gemm/arch/emu/machine.h"

namespace hopper_gemm::emulator {

// The operands of one wgmma as floats, which hold every type exactly: 64 x k and k x n, k = 32 bytes of elements.
struct MmaOperands {
  float a[kMmaM][kMaxMmaK], b[kMaxMmaK][256];
};

// Reads both operands of a wgmma. `shared` is the byte at window address 0 of the CTA.
void read_operands(const unsigned char* shared, const WgmmaCall& call, MmaOperands& operands);

// d (64 x n, dense) = a * b + (accumulate ? d : 0).
//   16-bit and tf32: products are exact in float; sums are rounded one by one, which is not the tensor cores' order
//     (undocumented) but lies within the same error bound. f16 accumulators: rounded after each 16 of K.
//   fp8: products and accumulator are cut off 13 bits below the largest exponent among them, and their sum to as many bits:
//     bit for bit what an H200 did with random data (2026-11-30, tests/golden), and why sums are promoted.
//   integers: exact, modulo 2^32; d holds the bits.
void multiply(const MmaOperands& operands, const WgmmaCall& call, float* d);

}  // namespace hopper_gemm::emulator
