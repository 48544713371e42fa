// Operand layouts: every swizzle, both majors, both inputs and accumulators, through TMA load and wgmma, against a
// float64 product. Nothing here knows how the emulator decodes a descriptor.
#pragma once
#include <cmath>

#include "../../csrc/emulator/emulator.h"
#include "emulator_check.h"
#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/swizzle.h"

namespace hopper_gemm::test {

constexpr int kLayoutK = 128;  // two 128-byte atoms of K

template <Major kA, Major kB, Swizzle kSwizzle, int kN, DataType kInput, DataType kAccumulator>
struct Layout {
  static constexpr OperandTile a = {kA, kSwizzle, 2, kMmaM, kLayoutK};
  static constexpr OperandTile b = {kB, kSwizzle, 2, kN, kLayoutK};
  struct Shared {
    alignas(1024) unsigned char a[kMmaM * kLayoutK * 2];
    alignas(1024) unsigned char b[kN * kLayoutK * 2];
    arch::Barrier full;
  };

  static void load(unsigned char* to, const OperandTile& tile, const TensorMap& map, arch::Barrier& full) {
    for (int box = 0; box < tile.boxes(); ++box) {
      const int column = box * tile.span();
      arch::tma_load(to + box * tile.box_bytes(), map, full, column, 0);
    }
  }

  // One warpgroup computes out (64 x kN, f32) = A * B.
  static HG_KERNEL(128) kernel(HG_PARAM(GemmParams) params) {
    Shared& shared = arch::dynamic_shared<Shared>();
    const uint32_t thread = arch::thread_index();
    if (arch::warp_uniform(thread / 32) == 0 && arch::elect_one()) {
      arch::barrier_init(shared.full, 1);
      arch::barrier_init_fence();
      load(shared.a, a, params.a_map, shared.full);  // before the bytes are announced: allowed while the arrival is pending
      arch::barrier_arrive_expect(shared.full, sizeof shared.a + sizeof shared.b);
      load(shared.b, b, params.b_map, shared.full);
    }
    arch::cta_sync();
    arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
    std::conditional_t<kAccumulator == DataType::f16, uint32_t, float> d[kN / (kAccumulator == DataType::f16 ? 4 : 2)];
    arch::wgmma_fence();
    for (int k = 0; k < kLayoutK; k += 16)
      arch::wgmma<kInput, kInput, kAccumulator, kN, kA, kB>(
          d, a.descriptor() | descriptor_start(arch::shared_address(shared.a) + a.offset_bytes(0, k)),
          b.descriptor() | descriptor_start(arch::shared_address(shared.b) + b.offset_bytes(0, k)), k > 0);
    arch::wgmma_commit();
    arch::wgmma_wait<0>();
    float* out = static_cast<float*>(params.out);
    for (int i = 0; i < kN / 4; ++i) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8, column = i / 2 * 8 + thread % 4 * 2;
      float low, high;
      if constexpr (kAccumulator == DataType::f16) {
        low = arch::f16_low(d[i]);
        high = arch::f16_high(d[i]);
      } else {
        low = d[2 * i];
        high = d[2 * i + 1];
      }
      arch::store_global(out + row * kN + column, low);
      arch::store_global(out + row * kN + column + 1, high);
    }
  }

  static TensorMap map(const OperandTile& tile, std::vector<uint16_t>& data) {
    const bool k_major = tile.major == Major::k;
    const uint64_t inner = k_major ? tile.k : tile.mn, outer = k_major ? tile.mn : tile.k;
    return emulator::encode_tensor_map({data.data(),
                                        kInput,
                                        {inner, outer},
                                        inner * 2,
                                        {static_cast<uint32_t>(tile.span()), static_cast<uint32_t>(tile.rows())},
                                        kSwizzle});
  }

  static void run(uint64_t seed) {
    std::vector<uint16_t> a_data = random_values(kMmaM * kLayoutK, kInput, 3),
                          b_data = random_values(kN * kLayoutK, kInput, 4);
    std::vector<float> out(kMmaM * kN);
    GemmParams params{};
    params.out = out.data();
    params.m = kMmaM;
    params.n = kN;
    params.out_pitch = kN;
    params.out_type = DataType::f32;
    params.a_map = map(a, a_data);
    params.b_map = map(b, b_data);
    EmulatorOptions options;
    options.seed = seed;
    CHECK(clean(emulator::run({kernel, 1, 1, 128, sizeof(Shared), 168, false}, params, options)));
    const double step = kAccumulator == DataType::f16 ? 0x1p-11 : 0x1p-23;
    for (int m = 0; m < kMmaM; ++m)
      for (int n = 0; n < kN; ++n) {
        double sum = 0, magnitude = 0;
        for (int k = 0; k < kLayoutK; ++k) {
          const double x = value_of(kInput, a_data[kA == Major::k ? m * kLayoutK + k : k * kMmaM + m]);
          const double y = value_of(kInput, b_data[kB == Major::k ? n * kLayoutK + k : k * kN + n]);
          sum += x * y;
          magnitude += std::fabs(x * y);
        }
        if (!CHECK(std::fabs(out[m * kN + n] - sum) <= 16 * step * magnitude)) {
          std::fprintf(stderr, "  swizzle %d, A %d, B %d, n %d: (%d, %d) is %g, expected %g\n", static_cast<int>(kSwizzle),
                       static_cast<int>(kA), static_cast<int>(kB), kN, m, n, out[m * kN + n], sum);
          return;
        }
      }
  }
};

template <Swizzle kSwizzle>
void test_swizzle() {
  using enum DataType;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    Layout<Major::k, Major::k, kSwizzle, 64, bf16, f32>::run(seed);
    Layout<Major::k, Major::mn, kSwizzle, 128, bf16, f32>::run(seed);
    Layout<Major::mn, Major::k, kSwizzle, 192, DataType::f16, f32>::run(seed);
    Layout<Major::mn, Major::mn, kSwizzle, 256, DataType::f16, f32>::run(seed);
    Layout<Major::k, Major::k, kSwizzle, 8, bf16, f32>::run(seed);
    Layout<Major::k, Major::k, kSwizzle, 40, DataType::f16, DataType::f16>::run(seed);
    Layout<Major::mn, Major::mn, kSwizzle, 64, DataType::f16, DataType::f16>::run(seed);
  }
}

inline void test_layouts() {
  test_swizzle<Swizzle::none>();
  test_swizzle<Swizzle::b32>();
  test_swizzle<Swizzle::b64>();
  test_swizzle<Swizzle::b128>();
}

// Conversions against the compiler's _Float16 for every f16, and for floats around every rounding boundary.
inline void test_conversions() {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = static_cast<float>(std::bit_cast<_Float16>(half));
    const float got = emulator::float_from_f16(half);
    if (std::isnan(value)) {
      CHECK(std::isnan(got));
      continue;
    }
    CHECK(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(value));
    for (int offset = -2; offset <= 2; ++offset)
      for (const uint32_t half_way : {0u, 0x1000u}) {
        const float near = std::bit_cast<float>(std::bit_cast<uint32_t>(value) + half_way + offset);
        if (std::isnan(near)) continue;
        CHECK(emulator::f16_from_float(near) == std::bit_cast<uint16_t>(static_cast<_Float16>(near)));
      }
    CHECK(emulator::bf16_from_float(emulator::float_from_bf16(half)) ==
          (std::isnan(emulator::float_from_bf16(half)) ? 0x7FFF : half));
  }
  CHECK(emulator::bf16_from_float(1.00390625f) == 0x3F80);  // half way, to even
  CHECK(emulator::bf16_from_float(1.01171875f) == 0x3F82);  // half way, to even
  CHECK(emulator::bf16_from_float(1.00390637f) == 0x3F81);
  CHECK(arch::pack_bf16x2(1.0f, -2.0f) == 0xC0003F80u);
  CHECK(arch::pack_f16x2(1.0f, -2.0f) == 0xC0003C00u);
}

}  // namespace hopper_gemm::test
