// The library's five schedules in the emulator: ragged shapes, clusters, all store paths, several seeds (an argument
// says how many).
#include <chrono>
#include <cstdlib>

#include "emulator_gemm.h"

namespace hopper_gemm::test {

constexpr KernelConfig make(Schedule schedule, int tile_m, int tile_n, int stages, int consumers, Store store,
                            int cluster_m = 1, int cluster_n = 1, Major a_major = Major::k, Major b_major = Major::k,
                            DataType input = DataType::bf16, DataType accumulator = DataType::f32) {
  return {schedule,  input,     input,  accumulator, a_major,       b_major,       tile_m, tile_n, 64,
          cluster_m, cluster_n, stages, consumers,   Swizzle::b128, Swizzle::b128, store,  1};
}

#define KERNEL(NAME, ...)                                     \
  struct NAME {                                               \
    static constexpr KernelConfig config = make(__VA_ARGS__); \
  }
KERNEL(MultistageKernel, Schedule::multistage, 128, 128, 4, 2, Store::direct);
KERNEL(MultistageMn, Schedule::multistage, 64, 64, 3, 1, Store::tma, 1, 1, Major::mn, Major::mn);
KERNEL(TmaKernel128, Schedule::tma, 128, 128, 4, 2, Store::direct);
KERNEL(TmaCluster, Schedule::tma, 64, 64, 3, 1, Store::tma, 2, 1, Major::mn, Major::k);
KERNEL(Specialized, Schedule::warp_specialized, 64, 128, 4, 1, Store::tma);
KERNEL(SpecializedCluster, Schedule::warp_specialized, 128, 128, 3, 2, Store::direct, 2, 2, Major::k, Major::mn);
KERNEL(Cooperative256, Schedule::cooperative, 128, 256, 3, 2, Store::tma);
KERNEL(CooperativeCluster, Schedule::cooperative, 128, 64, 4, 2, Store::tma, 2, 1, Major::k, Major::mn, DataType::f16);
KERNEL(CooperativeHalf, Schedule::cooperative, 256, 256, 3, 4, Store::direct, 1, 1, Major::k, Major::k, DataType::f16,
       DataType::f16);
KERNEL(PingpongKernel, Schedule::pingpong, 64, 128, 4, 2, Store::tma);
KERNEL(PingpongCluster, Schedule::pingpong, 64, 64, 4, 2, Store::direct, 1, 2, Major::mn, Major::mn);
#undef KERNEL

template <class K>
void run(const char* name, std::initializer_list<Shape> shapes, int seeds) {
  for (const Shape shape : shapes) {
    EmulatedGemm<K> gemm(shape);
    for (int seed = 0; seed < seeds; ++seed) {
      gemm.options.seed = seed;
      gemm.out_type = seed % 2 == 1 ? DataType::f32 : K::config.a_type;
      const auto start = std::chrono::steady_clock::now();
      const EmulatorReport report = gemm.run();
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const bool ok = CHECK(clean(report)) && CHECK(gemm.correct());
      if (!ok || seed == 0)
        std::printf("%s %s %dx%dx%d seed %d: %.3f s, %lld steps\n", ok ? "ok  " : "FAIL", name, shape.m, shape.n, shape.k,
                    seed, seconds, static_cast<long long>(report.steps));
    }
  }
}

}  // namespace hopper_gemm::test

int main(int argc, char** argv) {
  using namespace hopper_gemm::test;
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 4;
  const std::initializer_list<Shape> shapes = {{200, 136, 328}, {64, 64, 8}, {1, 1, 200}};
  run<MultistageKernel>("multistage 128x128", shapes, seeds);
  run<MultistageMn>("multistage 64x64 mn mn", shapes, seeds);
  run<TmaKernel128>("tma 128x128", shapes, seeds);
  run<TmaCluster>("tma 64x64 c2x1", shapes, seeds);
  run<Specialized>("warp_specialized 64x128", shapes, seeds);
  run<SpecializedCluster>("warp_specialized 128x128 c2x2", shapes, seeds);
  run<Cooperative256>("cooperative 128x256", shapes, seeds);
  run<CooperativeCluster>("cooperative 128x64 c2x1 f16", {{200, 136, 328}, {700, 200, 136}, {1, 1, 200}}, seeds);
  run<CooperativeHalf>("cooperative 256x256 f16 accumulator", {{256, 256, 64}}, seeds);
  run<PingpongKernel>("pingpong 64x128", {{200, 136, 328}, {700, 200, 136}, {1, 1, 200}}, seeds);
  run<PingpongCluster>("pingpong 64x64 c1x2", {{200, 136, 328}, {700, 200, 136}, {1, 1, 200}}, seeds);
  run<Cooperative256>("cooperative 128x256", {{256, 256, 256}}, seeds);
  return result();
}
