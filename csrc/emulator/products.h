// What a wgmma multiplies, told by the origins of the bytes it reads: all of an operand must come from one place in one
// tensor, A and B from the same K, and a sum must take up each part of K once. Finds wrong swizzles, descriptors,
// coordinates and stages without looking at a single value.
#pragma once
#include "machine.h"

namespace hopper_gemm::emulator {

// Collects the origins of an operand's units; reports the first one that does not fit the others.
class OriginCheck {
 public:
  OriginCheck(const Cta& cta, Line line, const char* operand, Major major);
  void add(uint32_t unit, int mn, int k);

  bool known() const { return source_ != 0 && fits_; }
  int mn() const { return mn_; }  // of the operand's first element, in its tensor
  int k() const { return k_; }
  int batch() const { return batch_; }

 private:
  const Cta& cta_;
  Line line_;
  const char* operand_;
  Major major_;
  uint16_t source_ = 0;
  bool fits_ = true;
  int32_t mn_ = 0, k_ = 0, batch_ = 0;
};

// The product's place; reports operands from different K.
Sum product_of(const OriginCheck& a, const OriginCheck& b, int mma_k, Line line);

// Adds the operation's product to its accumulator's sum; reports what does not continue it.
void add_product(const WarpgroupOperation& operation);

// What the thread's registers hold, between wgmmas.
Sum& sum_of(Thread& thread, uint32_t* registers);

}  // namespace hopper_gemm::emulator
