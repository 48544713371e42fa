// What a kernel may load before it has waited for the grid before it: the operand that its launch says is static. And that
// it lets the grid after it start no sooner.
#pragma once
#include "emulator_copies.h"

namespace hopper_gemm::test {

// A box of A and one of B, both before the wait.
inline void early_loads_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 1);
  if (arch::thread_index() != 0) return;
  arch::barrier_arrive_expect(shared.full, sizeof shared.box);
  arch::tma_load(shared.box, params.a_map, shared.full, 0, 0);
  arch::tma_load(shared.box + sizeof shared.box / 2, params.b_map, shared.full, 0, 0);
  arch::wait_for_previous_grid();
  arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
}

template <bool kSooner>
void allowing_kernel(const GemmParams&) {
  if (kSooner) arch::allow_next_grid();
  arch::wait_for_previous_grid();
  if (!kSooner) arch::allow_next_grid();
}

inline void test_grid_order() {
  std::vector<uint16_t> data(64 * 64);
  GemmParams params{};
  params.a_map = params.b_map = copy_map(data.data(), 64, 64, 64);
  const auto report_of = [&](StaticOperand operand) {
    params.static_operand = operand;
    return run_kernel(early_loads_kernel, params, sizeof(CopyShared), {.overlaps_previous_grid = true});
  };
  const EmulatorReport neither = report_of(StaticOperand::none), a = report_of(StaticOperand::a),
                       b = report_of(StaticOperand::b);
  CHECK(neither.findings.size() == 2 && neither.early_a + neither.early_b == 0);
  CHECK(found(neither, {"grid-order: tma_load", "before wait_for_previous_grid"}));
  // The same memory, but it is the map that counts: each is left with the finding of the other load.
  CHECK(a.findings.size() == 1 && a.findings[0] == neither.findings[1] && a.early_a == 1 && a.early_b == 0);
  const EmulatorReport sooner = run_kernel(allowing_kernel<true>, params, 0, {.overlaps_previous_grid = true});
  CHECK(found(sooner, {"grid-order: allow_next_grid", "before wait_for_previous_grid"}));
  CHECK(run_kernel(allowing_kernel<false>, params, 0, {.overlaps_previous_grid = true}).findings.empty());
  CHECK(b.findings.size() == 1 && b.findings[0] == neither.findings[0] && b.early_a == 0 && b.early_b == 1);
}

}  // namespace hopper_gemm::test
