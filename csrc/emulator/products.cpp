// The rules on what wgmmas multiply and add up.
#include "products.h"

#include <algorithm>

#include "descriptor.h"

namespace hopper_gemm::emulator {

OriginCheck::OriginCheck(const Cta& cta, Line line, const char* operand, Major major)
    : cta_(cta), line_(line), operand_(operand), major_(major) {}

void OriginCheck::add(uint32_t unit, int mn, int k) {
  const Origin& origin = cta_.shadow.origin(unit);
  if (origin.source == 0 || !fits_) return;
  const bool k_major = major_ == Major::k;
  const int32_t from_mn = k_major ? origin.y : origin.x, from_k = k_major ? origin.x : origin.y;
  if (source_ == 0) {
    source_ = origin.source;
    mn_ = from_mn - mn;
    k_ = from_k - k;
    batch_ = origin.batch;
    return;
  }
  if (source_ == origin.source && from_mn == mn_ + mn && from_k == k_ + k && origin.batch == batch_) return;
  fits_ = false;
  const auto element = [&](int32_t at_mn, int32_t at_k, uint16_t source) {
    return "row " + std::to_string(at_mn) + ", k " + std::to_string(at_k) + " of " + machine->sources[source - 1].second;
  };
  report(Finding::wrong_coordinate,
         "wgmma at " + place(line_) + ": the descriptor of " + operand_ + " reads, as element (" + std::to_string(mn) +
             ", k " + std::to_string(k) + ") of the operand, shared byte " + std::to_string(unit * 16) + " of CTA " +
             std::to_string(cta_.block) + ", which was written for " + element(from_mn, from_k, origin.source) +
             "; the other elements ask for " + element(mn_ + mn, k_ + k, source_) +
             " (swizzle, descriptor or box coordinates disagree)",
         std::string("origin") + operand_ + place(line_));
}

Sum product_of(const OriginCheck& a, const OriginCheck& b, int mma_k, Line line) {
  if (!a.known() || !b.known()) return {};
  if (a.k() != b.k()) {
    report(
        Finding::wrong_coordinate,
        "wgmma at " + place(line) + ": A comes from k " + std::to_string(a.k()) + " and B from k " + std::to_string(b.k()),
        "k of operands" + place(line));
    return {};
  }
  // An operand that all products of a batch share is matrix 0 for each of them.
  const GemmParams& params = machine->params;
  if (params.a_step != 0 && params.b_step != 0 && a.batch() != b.batch()) {
    report(Finding::wrong_coordinate,
           "wgmma at " + place(line) + ": A comes from matrix " + std::to_string(a.batch()) + " of the batch and B from " +
               std::to_string(b.batch()),
           "batch of operands" + place(line));
    return {};
  }
  return {true, a.mn(), b.mn(), a.k(), a.k() + mma_k, std::max(a.batch(), b.batch())};
}

void add_product(const WarpgroupOperation& operation) {
  Sum& sum = operation.accumulator->sum;
  const Sum& product = operation.product;
  if (!operation.call.accumulate) {
    sum = product;
    return;
  }
  if (!product.known) return;  // zeros beyond the edge, or bytes of unknown origin
  Sum next = product;
  next.k_begin = sum.known ? sum.k_begin : product.k_begin;
  next.before = sum.before;
  next.limit = sum.limit;
  // Once, and only a sum that began in the middle may go round to what lies before its beginning, and no further than that.
  const bool goes_round = sum.known && sum.limit == 0 && product.k_begin < sum.k_begin;
  if (goes_round) {
    const int32_t mma_k = operation.accumulator->mma_k;
    next.before = sum.numbers(mma_k, ceil_div(machine->params.k, mma_k));
    next.limit = sum.k_begin;
    next.k_begin = product.k_begin;
  }
  const bool follows = goes_round || (sum.k_end == product.k_begin && (sum.limit == 0 || product.k_end <= sum.limit));
  // Onto registers that hold something else: zeros, for all that is known here.
  if (sum.known && (sum.m != product.m || sum.n != product.n || sum.batch != product.batch || !follows))
    report(Finding::accumulation,
           "wgmma at " + place(operation.line) + " adds the product of row " + std::to_string(product.m) + ", column " +
               std::to_string(product.n) + ", k " + std::to_string(product.k_begin) + " to the sum of row " +
               std::to_string(sum.m) + ", column " + std::to_string(sum.n) + ", k " + std::to_string(sum.k_begin) + " to " +
               std::to_string(sum.k_end),
           "accumulation" + place(operation.line));
  sum = next;
}

Sum& sum_of(Thread& thread, uint32_t* registers) {
  for (auto& [held, sum] : thread.sums)
    if (held == registers) return sum;
  return thread.sums.emplace_back(registers, Sum{}).second;
}

}  // namespace hopper_gemm::emulator
