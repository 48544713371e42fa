// The arithmetic of one wgmma: operands to floats, then a plain matrix product.
#pragma once
#include "descriptor.h"
#include "hopper_gemm/arch/emu/machine.h"

namespace hopper_gemm::emulator {

// Reads a 64 x 16 (A) or 16 x n (B) operand. `shared` is the byte at window address 0 of the CTA.
void read_a(const unsigned char* shared, const Descriptor& d, Major major, DataType type, float (&a)[kMmaM][kMmaK]);
void read_b(const unsigned char* shared, const Descriptor& d, Major major, DataType type, int n,
            float (&b)[kMmaK][256]);

// d (64 x n, dense) = a * b + (accumulate ? d : 0). Products are exact in float; sums are rounded one by one, which is
// not the tensor cores' order (undocumented) but lies within the same error bound. f16: rounded after each 16 of K.
void multiply(const float (&a)[kMmaM][kMmaK], const float (&b)[kMmaK][256], int n, bool accumulate,
              DataType accumulator, float* d);

}  // namespace hopper_gemm::emulator
