// What only some element types have: integer sums, whose poison is another one; and the conversions of the narrow formats.
#pragma once
#include "emulator_faults.h"

namespace hopper_gemm::test {

// Integer sums, stored before the wait that covers them if not kWaits.
template <bool kWaits>
void integer_sums_kernel(const GemmParams& params) {
  MmaShared& shared = arch::dynamic_shared<MmaShared>();
  const uint32_t thread = arch::thread_index();
  if (thread == 0) {
    arch::barrier_init(shared.full, 1);
    arch::barrier_init_fence();
    arch::barrier_arrive_expect(shared.full, 16384);
    arch::tma_load(shared.a, params.a_map, shared.full, 0, 0);
    arch::tma_load(shared.b, params.b_map, shared.full, 0, 0);
  }
  arch::cta_sync();
  arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
  constexpr OperandTile tile = {Major::k, Swizzle::b128, 1, 64, 128};
  uint32_t d[32];
  arch::wgmma_fence();
  arch::wgmma<DataType::s8, DataType::u8, DataType::s32, 64, Major::k, Major::k>(
      d, tile.descriptor() | descriptor_start(arch::shared_address(shared.a)),
      tile.descriptor() | descriptor_start(arch::shared_address(shared.b)), false);
  arch::wgmma_commit();
  if (kWaits) arch::wgmma_wait<0>();
  arch::store_global(static_cast<uint32_t*>(params.out) + thread, d[0]);
  arch::wgmma_wait<0>();
}

template <bool kWaits>
EmulatorReport run_integer_sums() {
  static std::vector<uint8_t> data(64 * 128, 3);
  static std::vector<uint32_t> out(128);
  GemmParams params{};
  params.out = out.data();
  params.out_pitch = params.n = 128;
  params.m = 1;
  params.out_type = DataType::s32;
  params.a_map = params.b_map =
      emulator::encode_tensor_map({data.data(), DataType::s8, {128, 64}, 128, {128, 64}, Swizzle::b128});
  const EmulatorReport report = run_kernel(integer_sums_kernel<kWaits>, params, sizeof(MmaShared), {.threads = 128});
  if (kWaits) CHECK(out[0] == 32 * 9 && out[127] == 32 * 9);
  return report;
}

inline void test_integer_sums() {
  CHECK(clean(run_integer_sums<true>()));
  CHECK(found(run_integer_sums<false>(), {"accumulator read before the wgmma_wait"}));
}

// Every fp8 value comes back; half way is rounded to even, and what is too large saturates.
inline void test_narrow_conversions() {
  using namespace emulator;
  for (int bits = 0; bits < 256; ++bits) {
    const uint8_t byte = static_cast<uint8_t>(bits);
    const float e4m3 = float_from_e4m3(byte), e5m2 = float_from_e5m2(byte);
    CHECK(std::isnan(e4m3) ? (bits & 0x7F) == 0x7F : e4m3_from_float(e4m3) == byte);
    CHECK(std::isnan(e5m2)   ? (bits & 0x7F) > 0x7C
          : std::isinf(e5m2) ? e5m2_from_float(e5m2) == (bits & 0x80) + 0x7B
                             : e5m2_from_float(e5m2) == byte);
  }
  CHECK(float_from_e4m3(0x7E) == 448.0f && float_from_e4m3(0x01) == 0x1p-9f && float_from_e5m2(0x7B) == 57344.0f);
  CHECK(e4m3_from_float(1.0625f) == 0x38 && e4m3_from_float(1.1875f) == 0x3A && e4m3_from_float(0x1.8p-10f) == 0x01);
  CHECK(e4m3_from_float(0x1p-10f) == 0x00 && e4m3_from_float(464.0f) == 0x7E && e4m3_from_float(-1e30f) == 0xFE);
  CHECK(e4m3_from_float(std::nanf("")) == 0x7F && e5m2_from_float(std::nanf("")) == 0x7F &&
        e5m2_from_float(INFINITY) == 0x7B);
  CHECK(arch::pack_e4m3x2(1.0f, -2.0f) == 0xC038 && arch::pack_e5m2x2(1.0f, -2.0f) == 0xC03C);
  CHECK(tf32_from_float(1.0f + 0x1p-11f) == 1.0f && tf32_from_float(1.0f + 0x1.8p-10f) == 1.0f + 0x1p-9f);
  CHECK(tf32_read(std::bit_cast<uint32_t>(1.0f + 0x1.8p-10f)) == 1.0f + 0x1p-10f);
}

}  // namespace hopper_gemm::test
