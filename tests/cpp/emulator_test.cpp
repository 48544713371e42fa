// Tests of the emulator itself, on hand-written kernels: layouts, copies, barriers, and one seeded fault per rule.
#include "emulator_copies.h"
#include "emulator_faults.h"
#include "emulator_grid_order.h"
#include "emulator_layouts.h"
#include "emulator_types.h"

int main() {
  using namespace hopper_gemm::test;
  test_conversions();
  test_layouts();
  test_out_of_bounds_fill();
  test_batch();
  test_store_clipping();
  test_multicast();
  test_cp_async();
  test_phases();
  test_warp();
  test_faults();
  test_grid_order();
  test_integer_sums();
  test_narrow_conversions();
  test_replay();
  test_map_rules();
  return result();
}
