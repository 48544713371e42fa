// The table of the world: whoever compiles this decides which copy of include/ it means.
#include <algorithm>
#include <string_view>

#include "hopper_gemm/kernel/gemm.h"
#include "hopper_gemm/kernel/pack.h"
#include "world.h"

namespace hopper_gemm::test {

namespace {

constexpr KernelConfig small(Schedule schedule, int tile_m, int stages, int consumers, Store store, Major a_major, Major b_major,
                             int cluster_m = 1, int cluster_n = 1, Swizzle swizzle = Swizzle::b128, int mmas_in_flight = 1) {
  return {schedule,  DataType::bf16, DataType::bf16, DataType::f32, a_major, b_major, tile_m, 64,   64,
          cluster_m, cluster_n,      stages,        consumers, swizzle, swizzle, store, mmas_in_flight};
}

constexpr KernelConfig halves(KernelConfig config) {
  config.a_type = config.b_type = config.accumulator = DataType::f16;
  return config;
}

constexpr KernelConfig column_major(KernelConfig config) {
  config.output = OutputOrder::column_major;
  return config;
}
// fp8 with promoted sums: a stage is 128 elements of K, added up as a whole.
constexpr KernelConfig promoted(KernelConfig config) {
  config.a_type = DataType::e4m3;
  config.b_type = DataType::e5m2;
  config.tile_k = config.promote_k = 128;
  config.mmas_in_flight = 0;
  return config;
}
// So many columns that they are multiplied in halves.
constexpr KernelConfig halved(KernelConfig config) {
  config.tile_n = 224;
  return config;
}
// Few columns, so that tiles begin their sums at different k-blocks.
constexpr KernelConfig turned(KernelConfig config) {
  config.tile_n = 16;
  if (config.b_major == Major::mn) config.b_swizzle = Swizzle::b32;
  return column_major(config);
}
constexpr KernelConfig tf32(KernelConfig config) {
  config.a_type = config.b_type = DataType::tf32;
  config.tile_k = 32;
  return config;
}
constexpr KernelConfig wide(KernelConfig config) {
  config.tile_n = 192;
  return config;
}
constexpr KernelConfig split(KernelConfig config) {
  config.cluster_k = 2;
  return config;
}

// X(name, config). cooperative_wide is not small on purpose: three panels a tile, and stages beyond 128 KB.
#define HG_WORLD(X)                                                                                                    \
  X(multistage, small(Schedule::multistage, 64, 3, 1, Store::direct, Major::k, Major::k))                              \
  X(multistage_2wg_mn, small(Schedule::multistage, 128, 4, 2, Store::tma, Major::mn, Major::mn))                       \
  X(tma, small(Schedule::tma, 64, 3, 1, Store::tma, Major::k, Major::k))                                               \
  X(tma_2wg_c2x1, small(Schedule::tma, 128, 3, 2, Store::tma, Major::mn, Major::k, 2, 1))                              \
  X(specialized, small(Schedule::warp_specialized, 64, 3, 1, Store::tma, Major::k, Major::k))                          \
  X(specialized_sw64, small(Schedule::warp_specialized, 64, 3, 1, Store::tma, Major::k, Major::mn, 1, 1, Swizzle::b64)) \
  X(specialized_2wg_c2x2, small(Schedule::warp_specialized, 128, 3, 2, Store::direct, Major::k, Major::mn, 2, 2))      \
  X(specialized_split, split(small(Schedule::warp_specialized, 64, 3, 1, Store::direct, Major::k, Major::k)))           \
  X(cooperative, small(Schedule::cooperative, 128, 3, 2, Store::tma, Major::k, Major::k))                              \
  X(cooperative_plain, small(Schedule::cooperative, 128, 3, 2, Store::direct, Major::mn, Major::k, 1, 1, Swizzle::none)) \
  X(cooperative_c2x1, small(Schedule::cooperative, 128, 4, 2, Store::tma, Major::k, Major::mn, 2, 1))                  \
  X(cooperative_columns, column_major(small(Schedule::cooperative, 128, 3, 2, Store::tma, Major::k, Major::k)))          \
  X(tma_turned, turned(small(Schedule::tma, 64, 3, 1, Store::tma, Major::k, Major::mn)))                                \
  X(specialized_turned, turned(split(small(Schedule::warp_specialized, 64, 3, 1, Store::direct, Major::k, Major::k))))  \
  X(pingpong_turned, turned(small(Schedule::pingpong, 64, 4, 2, Store::tma, Major::k, Major::k)))                       \
  X(pingpong_turned_c2x1, turned(small(Schedule::pingpong, 64, 4, 2, Store::tma, Major::mn, Major::mn, 2, 1)))          \
  X(cooperative_wide, wide(small(Schedule::cooperative, 128, 4, 2, Store::tma, Major::k, Major::mn)))                    \
  X(cooperative_halves, halves(small(Schedule::cooperative, 128, 4, 2, Store::tma, Major::k, Major::k, 1, 1, Swizzle::b128, 0))) \
  X(cooperative_promoted, promoted(small(Schedule::cooperative, 128, 3, 2, Store::tma, Major::k, Major::k)))            \
  X(cooperative_promoted_c1x2, promoted(small(Schedule::cooperative, 128, 3, 2, Store::tma, Major::k, Major::k, 1, 2)))  \
  X(cooperative_halved, halved(promoted(small(Schedule::cooperative, 128, 2, 2, Store::tma, Major::k, Major::k))))      \
  X(pingpong_promoted, promoted(small(Schedule::pingpong, 128, 3, 2, Store::tma, Major::k, Major::k)))                  \
  X(multistage_tf32, tf32(small(Schedule::multistage, 64, 4, 1, Store::direct, Major::k, Major::k)))                    \
  X(pingpong, small(Schedule::pingpong, 64, 4, 2, Store::tma, Major::k, Major::k))                                     \
  X(pingpong_direct, small(Schedule::pingpong, 64, 4, 2, Store::direct, Major::k, Major::k))                           \
  X(pingpong_c1x2, small(Schedule::pingpong, 64, 3, 2, Store::tma, Major::mn, Major::mn, 1, 2))

#define HG_WORLD_TYPE(NAME, CONFIG)                  \
  struct NAME##_kernel {                             \
    static constexpr KernelConfig config = CONFIG;   \
  };
HG_WORLD(HG_WORLD_TYPE)
#undef HG_WORLD_TYPE

// A mutation needs some of them only: HG_WORLD_KERNELS is a list of names, "*" for all.
#ifndef HG_WORLD_KERNELS
#define HG_WORLD_KERNELS "*"
#endif
constexpr bool is_wanted(std::string_view name) {
  std::string_view rest = HG_WORLD_KERNELS;
  if (rest == "*") return true;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    if (word == name) return true;
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return false;
}
template <class K, bool kWanted>
constexpr auto function_of() -> void (*)(const GemmParams&) {
  if constexpr (kWanted) return &gemm_kernel<K>;
  return nullptr;
}

#define HG_WORLD_ENTRY(NAME, CONFIG) {#NAME, NAME##_kernel::config, function_of<NAME##_kernel, is_wanted(#NAME)>()},
constexpr WorldKernel kWorld[] = {HG_WORLD(HG_WORLD_ENTRY)};
#undef HG_WORLD_ENTRY

}  // namespace

World world() {
  return {kWorld, static_cast<int>(sizeof kWorld / sizeof kWorld[0]), is_wanted("pack") ? &pack_kernel<2> : nullptr};
}

}  // namespace hopper_gemm::test
