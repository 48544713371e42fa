// Copies: out-of-bounds fill of loads, clipping of stores, multicast, cp.async, stmatrix, phases.
#pragma once
#include "emulator_check.h"
#include "emulator_run.h"

namespace hopper_gemm::test {

constexpr int kRows = 16, kColumns = 64;  // of a box of 16-bit elements: 128 bytes a row

struct CopyShared {
  alignas(1024) unsigned char box[2 * kRows * kColumns * 2];  // two boxes
  arch::Barrier full, empty;
};

inline uint16_t box_element(const CopyShared& shared, Swizzle swizzle, int row, int column) {
  const uint32_t offset = swizzled(swizzle, static_cast<uint32_t>(row * kColumns + column) * 2);
  uint16_t bits;
  std::memcpy(&bits, shared.box + offset, 2);
  return bits;
}

inline TensorMap copy_map(void* data, int columns, int rows, int pitch) {
  return emulator::encode_tensor_map({data,
                                      DataType::bf16,
                                      {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)},
                                      static_cast<uint64_t>(pitch * 2),
                                      {kColumns, kRows},
                                      Swizzle::b128});
}

// Thread 0 loads the box at (k, m) = params.k, params.m; thread 1 checks nothing but writes what it sees to `seen`.
inline uint16_t seen[kRows][kColumns];

inline void set_up(CopyShared& shared, uint32_t arrivals) {
  if (arch::thread_index() == 0) {
    arch::barrier_init(shared.full, 1);
    arch::barrier_init(shared.empty, arrivals);
    arch::barrier_init_fence();
  }
  arch::cluster_arrive();
  arch::cluster_wait();
}

inline void load_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 1);
  if (arch::thread_index() == 0) {
    arch::barrier_arrive_expect(shared.full, sizeof shared.box / 2);
    arch::tma_load(shared.box, params.a_map, shared.full, params.k, params.m, params.a_step);
  }
  arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
  if (arch::thread_index() == 1)
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column) seen[row][column] = box_element(shared, Swizzle::b128, row, column);
}

inline void test_out_of_bounds_fill() {
  constexpr int columns = 72, rows = 20;
  std::vector<uint16_t> data(columns * rows);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint16_t>(i + 1);
  for (const auto& [k, m] : {std::pair{0, 0}, {64, 16}, {-8, -4}, {200, 0}, {0, 30}}) {
    GemmParams params{};
    params.a_map = copy_map(data.data(), columns, rows, columns);
    params.k = k;
    params.m = m;
    CHECK(clean(run_kernel(load_kernel, params, sizeof(CopyShared))));
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column) {
        const int x = k + column, y = m + row;
        const bool inside = x >= 0 && x < columns && y >= 0 && y < rows;
        CHECK(seen[row][column] == (inside ? data[y * columns + x] : 0));
      }
  }
}

// A box of one of three matrices; outside the batch there are zeros, and no matrix runs into the next one.
inline void test_batch() {
  constexpr int columns = 72, rows = 20, batches = 3, distance = columns * rows + 8;
  std::vector<uint16_t> data(batches * distance);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint16_t>(i + 1);
  for (const int matrix : {-1, 0, 2, 3}) {
    GemmParams params{};
    params.a_map = emulator::encode_tensor_map({data.data(),
                                                DataType::bf16,
                                                {columns, rows},
                                                columns * 2,
                                                {kColumns, kRows},
                                                Swizzle::b128,
                                                batches,
                                                distance * 2});
    params.k = 16;
    params.m = 10;
    params.a_step = matrix;
    CHECK(clean(run_kernel(load_kernel, params, sizeof(CopyShared))));
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column) {
        const int x = 16 + column, y = 10 + row;
        const bool inside = x < columns && y < rows && matrix >= 0 && matrix < batches;
        CHECK(seen[row][column] == (inside ? data[matrix * distance + y * columns + x] : 0));
      }
  }
}

// Four stmatrix_x4 fill a 16 x 64 panel with element = 64 * row + column; the store clips it.
inline void store_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  const uint32_t lane = arch::thread_index();
  for (int group = 0; group < kColumns / 8; group += 2) {
    const auto word = [&](int row, int column) {
      const uint32_t low = row * kColumns + column;
      return low | (low + 1) << 16;
    };
    const int row = lane / 4, column = group * 8 + lane % 4 * 2;
    const uint32_t at = swizzled(Swizzle::b128, lane % 16 * 128 + (group + lane / 16) * 16);
    arch::stmatrix_x4(shared.box + at, word(row, column), word(row + 8, column), word(row, column + 8),
                      word(row + 8, column + 8));
  }
  arch::async_proxy_fence();
  arch::named_barrier_sync(1, 32);
  if (arch::elect_one()) {
    arch::tma_store(params.out_map, shared.box, params.n, params.m);
    arch::tma_store_commit();
    arch::tma_store_wait_read<0>();
  }
}

inline void test_store_clipping() {
  constexpr int columns = 72, rows = 20, pitch = 80;
  for (const auto& [n, m] : {std::pair{0, 0}, {16, 8}, {64, 16}, {72, 0}}) {
    std::vector<uint16_t> data(pitch * rows, 0xEEEE);
    GemmParams params{};
    params.out_map = copy_map(data.data(), columns, rows, pitch);
    params.n = n;
    params.m = m;
    CHECK(clean(run_kernel(store_kernel, params, sizeof(CopyShared))));
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < pitch; ++x) {
        const int row = y - m, column = x - n;
        const bool written = x < columns && row >= 0 && row < kRows && column >= 0 && column < kColumns;
        CHECK(data[y * pitch + x] == (written ? row * kColumns + column : 0xEEEE));
      }
  }
}

// Two CTAs: each loads half the rows and multicasts them to both, four times; the empty barrier keeps rounds apart.
inline uint16_t multicast_seen[2][kRows * kColumns];
inline void multicast_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 2);
  const int rank = static_cast<int>(arch::cluster_rank());
  for (int round = 0; round < 4; ++round) {
    if (arch::thread_index() == 0) {
      arch::barrier_wait(shared.empty, (round & 1) ^ 1, {arch::Wait::empty, 0});
      arch::barrier_arrive_expect(shared.full, sizeof shared.box / 2);
      arch::tma_load_multicast(shared.box + rank * 1024, params.a_map, shared.full, 0, round * 16 + rank * 8, 3);
    }
    arch::barrier_wait(shared.full, round & 1, {arch::Wait::full, 0});
    if (arch::thread_index() == 5)
      for (int i = 0; i < kRows * kColumns; ++i)
        multicast_seen[rank][i] = box_element(shared, Swizzle::b128, i / 64, i % 64);
    arch::cta_sync();
    if (arch::thread_index() < 2) arch::barrier_arrive_cluster(shared.empty, arch::thread_index());
  }
  arch::cluster_arrive();
  arch::cluster_wait();
}

inline void test_multicast() {
  std::vector<uint16_t> data(64 * kColumns);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint16_t>(i);
  GemmParams params{};
  params.a_map =
      emulator::encode_tensor_map({data.data(), DataType::bf16, {kColumns, 64}, kColumns * 2, {kColumns, 8}, Swizzle::b128});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(clean(run_kernel(multicast_kernel, params, sizeof(CopyShared), {.seed = seed, .grid = 4, .cluster = 2})));
    for (int rank = 0; rank < 2; ++rank)
      for (int i = 0; i < kRows * kColumns; ++i) CHECK(multicast_seen[rank][i] == data[48 * kColumns + i]);
  }
}

// cp.async: three groups in flight, partial chunks are filled with zeros.
inline void cp_async_kernel(const GemmParams& params) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  const uint32_t lane = arch::thread_index();
  const unsigned char* source = static_cast<const unsigned char*>(params.a);
  for (int group = 0; group < 3; ++group) {
    arch::cp_async_16(shared.box + (group * 32 + lane) * 16, source + (group * 32 + lane) * 16, lane % 17);
    arch::cp_async_commit();
  }
  arch::cp_async_wait<1>();
  for (int i = 0; i < 32; ++i) {
    const unsigned char expected =
        static_cast<uint32_t>(i % 16) < lane % 17 ? source[(i / 16 * 32 + lane) * 16 + i % 16] : 0;
    CHECK(shared.box[(i / 16 * 32 + lane) * 16 + i % 16] == expected);
  }
  arch::cp_async_wait<0>();
}

inline void test_cp_async() {
  alignas(16) static unsigned char data[3 * 32 * 16];
  for (size_t i = 0; i < sizeof data; ++i) data[i] = static_cast<unsigned char>(i * 7 + 1);
  GemmParams params{};
  params.a = data;
  for (uint64_t seed = 0; seed < 5; ++seed)
    CHECK(clean(run_kernel(cp_async_kernel, params, sizeof(CopyShared), {.seed = seed})));
}

// A fresh barrier: parity 1 has passed, parity 0 has not. Two threads hand a counter back and forth over 100 phases.
inline int handed = 0;
inline void phases_kernel(const GemmParams&) {
  CopyShared& shared = arch::dynamic_shared<CopyShared>();
  set_up(shared, 1);
  const uint32_t thread = arch::thread_index();
  for (int round = 0; round < 100; ++round) {
    if (thread == 3) {
      arch::barrier_wait(shared.empty, (round & 1) ^ 1, {arch::Wait::empty, 0});
      handed = round;
      arch::barrier_arrive(shared.full);
    } else if (thread == 9) {
      arch::barrier_wait(shared.full, round & 1, {arch::Wait::full, 0});
      CHECK(handed == round);
      handed = -1;
      arch::barrier_arrive(shared.empty);
    }
  }
}

inline void test_phases() {
  for (uint64_t seed = 0; seed < 20; ++seed) CHECK(clean(run_kernel(phases_kernel, {}, sizeof(CopyShared), {.seed = seed})));
}

// elect_one: one lane, not always the same; warp_uniform: lane 0's value.
inline uint32_t elected_lanes = 0;
inline void warp_kernel(const GemmParams&) {
  int wins = 0;
  for (int i = 0; i < 64; ++i) {
    if (!arch::elect_one()) continue;
    ++wins;
    elected_lanes |= 1u << arch::thread_index();
  }
  static int total;
  total = arch::thread_index() == 0 ? wins : total;
  CHECK(arch::warp_uniform(arch::thread_index() + 7) == 7);
}

inline void test_warp() {
  CHECK(clean(run_kernel(warp_kernel, {}, 1024)));
  CHECK(__builtin_popcount(elected_lanes) > 16);
}

}  // namespace hopper_gemm::test
