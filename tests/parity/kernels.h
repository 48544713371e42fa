// Kernels of single instructions, written against arch/: the same source runs on the card and in the emulator, and what
// they leave in memory is compared word by word.
#pragma once
#include <type_traits>

#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/params.h"
#include "hopper_gemm/core/swizzle.h"

namespace hopper_gemm::parity {

constexpr int kThreads = 128;

// One thread of the CTA, chosen so that the compiler sees whole warps: after `thread_index() == 0` the .aligned instructions
// that follow met a warp that had not come together again, which is an illegal instruction (H200, 2026-11-29).
HG_DEVICE bool is_leader() { return arch::warp_uniform(arch::thread_index() / 32) == 0 && arch::elect_one(); }

template <class Shared>
HG_DEVICE void set_up(Shared& shared) {
  if (is_leader()) {
    arch::barrier_init(shared.full, 1);
    arch::barrier_init_fence();
  }
  arch::cluster_arrive();
  arch::cluster_wait();
}

HG_DEVICE void put(const GemmParams& params, int64_t index, float value) {
  arch::store_global(static_cast<float*>(params.out) + index, value);
}
HG_DEVICE void put(const GemmParams& params, int64_t index, uint32_t word) {
  arch::store_global(static_cast<uint32_t*>(params.out) + index, word);
}

// --- TMA load of both operands, then 128 bytes of K of wgmma; the accumulator as f32 (or s32), row-major 64 x kN.
template <DataType kA, DataType kB, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, Swizzle kSwizzle>
struct Mma {
  static constexpr int kM = 64, kBytes = element_bytes(kA), kK = 128 / kBytes;
  static constexpr OperandTile a = {kMajorA, kSwizzle, kBytes, kM, kK}, b = {kMajorB, kSwizzle, kBytes, kN, kK};
  struct Shared {
    alignas(1024) unsigned char a[kM * 128];
    alignas(1024) unsigned char b[kN * 128];
    arch::Barrier full;
  };
};

template <class Case, DataType kA, DataType kB, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB>
HG_DEVICE void multiply(const GemmParams& params) {
  constexpr OperandTile a = Case::a, b = Case::b;
  auto& shared = arch::dynamic_shared<typename Case::Shared>();
  set_up(shared);
  if (is_leader()) {
    arch::barrier_arrive_expect(shared.full, sizeof shared.a + sizeof shared.b);
    for (int box = 0; box < a.boxes(); ++box)
      arch::tma_load(shared.a + box * a.box_bytes(), params.a_map, shared.full, box * a.span(), 0);
    for (int box = 0; box < b.boxes(); ++box)
      arch::tma_load(shared.b + box * b.box_bytes(), params.b_map, shared.full, box * b.span(), 0);
  }
  arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
  arch::cta_sync();
  constexpr bool kHalves = kAccumulator == DataType::f16;
  constexpr int kRegisters = accumulator_registers(kAccumulator, kN), kStep = kMmaKBytes / Case::kBytes;
  const uint64_t at_a = a.descriptor() | descriptor_start(arch::shared_address(shared.a));
  const uint64_t at_b = b.descriptor() | descriptor_start(arch::shared_address(shared.b));
  const int thread = static_cast<int>(arch::thread_index());
  const int row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
  const auto run = [&](auto& d) {
    arch::register_fence(d);
    arch::wgmma_fence();
    HG_UNROLL for (int k = 0; k < Case::kK; k += kStep)
      arch::wgmma<kA, kB, kAccumulator, kN, kMajorA, kMajorB>(d, at_a + (a.offset_bytes(0, k) >> 4),
                                                              at_b + (b.offset_bytes(0, k) >> 4), k > 0);
    arch::wgmma_commit();
    arch::wgmma_wait<0>();
    arch::register_fence(d);
  };
  if constexpr (kHalves) {
    uint32_t d[kRegisters];
    run(d);
    HG_UNROLL for (int j = 0; j < kRegisters; ++j) {
      const int64_t place = (row + 8 * (j % 2)) * kN + 8 * (j / 2) + column;
      put(params, place, arch::f16_low(d[j]));
      put(params, place + 1, arch::f16_high(d[j]));
    }
  } else {
    std::conditional_t<kAccumulator == DataType::s32, uint32_t, float> d[kRegisters];
    run(d);
    HG_UNROLL for (int i = 0; i < kRegisters; ++i)
      put(params, (row + 8 * (i / 2 % 2)) * kN + 8 * (i / 4) + column + i % 2, d[i]);
  }
}

template <DataType kA, DataType kB, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, Swizzle kSwizzle>
HG_KERNEL(kThreads)
mma_kernel(HG_PARAM(GemmParams) params) {
  multiply<Mma<kA, kB, kAccumulator, kN, kMajorA, kMajorB, kSwizzle>, kA, kB, kAccumulator, kN, kMajorA, kMajorB>(params);
}

// --- conversions of params.n floats at params.a: a word of two e4m3 and two e5m2, then four floats rounded to tf32.
HG_KERNEL(kThreads) convert_kernel(HG_PARAM(GemmParams) params) {
  struct Units {
    arch::Piece unit[kThreads];
  };
  Units& shared = arch::dynamic_shared<Units>();
  const float* from = static_cast<const float*>(params.a);
  const int thread = static_cast<int>(arch::thread_index());
  for (int i = thread; i < params.k / 4; i += kThreads) {
    arch::Piece& unit = shared.unit[thread];
    arch::shared_store(unit, arch::load_global(reinterpret_cast<const arch::Piece*>(from + 4 * i)));
    arch::round_tf32(&unit);
    const arch::Piece rounded = arch::shared_load(unit);
    HG_UNROLL for (int j = 0; j < 4; j += 2) {
      const float low = arch::load_global(from + 4 * i + j), high = arch::load_global(from + 4 * i + j + 1);
      const uint32_t e4m3 = arch::pack_e4m3x2(low, high), e5m2 = arch::pack_e5m2x2(low, high);
      put(params, 2 * i + j / 2, e4m3 | e5m2 << 16);
    }
    HG_UNROLL for (int j = 0; j < 4; ++j)
      put(params, params.k / 2 + 4 * i + j, rounded.word[j]);
  }
}

// --- the epilogue's functions of params.k floats at params.a: 2^x and 1 / x, then the halves of each word as a bf16, and the
// same floats as pairs, loaded under predicates that leave out every third, once their lines were asked for.
HG_KERNEL(kThreads) function_kernel(HG_PARAM(GemmParams) params) {
  const float* from = static_cast<const float*>(params.a);
  const uint16_t* halves = static_cast<const uint16_t*>(params.a);
  const uint32_t* words = static_cast<const uint32_t*>(params.a);
  const arch::Float2* pairs = static_cast<const arch::Float2*>(params.a);
  for (int i = static_cast<int>(arch::thread_index()); i < params.k; i += kThreads) {
    arch::prefetch_to_l2(from + i);
    const float x = arch::load_global_if(from + i, true);
    put(params, i, arch::exp2(x));
    put(params, params.k + i, arch::reciprocal(x));
    put(params, 2 * params.k + i, arch::bf16_low(arch::load_global_if(halves + i, i % 3 != 0)));
    put(params, 3 * params.k + i, arch::bf16_high(arch::load_global_if(words + i, i % 3 != 1)));
    const arch::Float2 pair = arch::load_global_if(pairs + i / 2, i % 3 != 2);
    put(params, 4 * params.k + i, i % 2 == 0 ? pair.low : pair.high);
  }
}

// --- TMA load of one box at the coordinates that travel in params.order (and a_step: the matrix), with `group` bytes announced; shared memory as words.
struct BoxShared {
  alignas(1024) unsigned char box[8192];
  arch::Barrier full;
};

HG_DEVICE void dump(const GemmParams& params, const unsigned char* bytes, int count, int64_t at) {
  for (int i = static_cast<int>(arch::thread_index()); i < count; i += kThreads)
    put(params, at + i, reinterpret_cast<const uint32_t*>(bytes)[i]);
}

HG_DEVICE void clear(unsigned char* bytes, int count, uint32_t word) {
  for (int i = static_cast<int>(arch::thread_index()); i < count; i += kThreads)
    reinterpret_cast<uint32_t*>(bytes)[i] = word;
  arch::async_proxy_fence();
}

HG_KERNEL(kThreads) load_kernel(HG_PARAM(GemmParams) params) {
  BoxShared& shared = arch::dynamic_shared<BoxShared>();
  clear(shared.box, 2048, 0xA5A5A5A5u);
  set_up(shared);
  if (is_leader()) {
    arch::barrier_arrive_expect(shared.full, static_cast<uint32_t>(params.order.group));
    if (params.order.raster == Raster::along_m)
      arch::tma_load(shared.box, params.a_map, shared.full, params.order.tiles_n, params.order.tiles_m, params.a_step);
    else
      arch::tma_load(shared.box, params.a_map, shared.full, params.order.tiles_n, params.order.tiles_m, params.a_step,
                     arch::cache_policy(params.order.tiles_m % 2 == 0));
  }
  arch::barrier_wait(shared.full, 0, {arch::Wait::full, 0});
  arch::cta_sync();
  dump(params, shared.box, 2048, 0);
}

// --- multicast: two CTAs, each loads its half of 16 rows of 128 bytes into both; three phases of one barrier.
HG_KERNEL(kThreads) multicast_kernel(HG_PARAM(GemmParams) params) {
  BoxShared& shared = arch::dynamic_shared<BoxShared>();
  set_up(shared);
  const int rank = static_cast<int>(arch::cluster_rank());
  for (int round = 0; round < 3; ++round) {
    if (is_leader()) {
      arch::barrier_arrive_expect(shared.full, 2048);
      if (round < 2)
        arch::tma_load_multicast(shared.box + rank * 1024, params.a_map, shared.full, 0, round * 16 + rank * 8, 3);
      else
        arch::tma_load_multicast(shared.box + rank * 1024, params.a_map, shared.full, 0, round * 16 + rank * 8, 3, 0,
                                 arch::cache_policy(rank == 0));
    }
    arch::barrier_wait(shared.full, round & 1, {arch::Wait::full, 0});
    arch::cta_sync();
    dump(params, shared.box, 512, (round * 2 + rank) * 512);
    arch::cluster_arrive();
    arch::cluster_wait();
  }
}

// --- stmatrix: every lane's registers say which lane and register they are; x4, then x2. Shared memory as words.
HG_KERNEL(kThreads) stmatrix_kernel(HG_PARAM(GemmParams) params) {
  BoxShared& shared = arch::dynamic_shared<BoxShared>();
  clear(shared.box, 2048, 0xA5A5A5A5u);
  arch::cta_sync();
  const uint32_t thread = arch::thread_index(), lane = thread % 32, warp = thread / 32;
  const auto word = [&](uint32_t i) { return thread << 16 | i; };
  arch::stmatrix_x4(shared.box + warp * 512 + (lane ^ 5) * 16, word(0), word(1), word(2), word(3));
  arch::stmatrix_x2(shared.box + 4096 + warp * 512 + (lane % 16 ^ 3) * 16, word(4), word(5));
  arch::cta_sync();
  dump(params, shared.box, 2048, 0);
}

// --- TMA store of a 64 x 64 panel (128-byte swizzle; element = 64 * row + column) at the coordinates in params.order.
HG_KERNEL(kThreads) store_kernel(HG_PARAM(GemmParams) params) {
  BoxShared& shared = arch::dynamic_shared<BoxShared>();
  const int thread = static_cast<int>(arch::thread_index()), lane = thread % 32, warp = thread / 32;
  const int row = warp * 16 + lane / 4;
  const auto word = [&](int r, int c) {
    const uint32_t low = static_cast<uint32_t>(r * 64 + c);
    return low | (low + 1) << 16;
  };
  const uint32_t place = swizzled(Swizzle::b128, (warp * 16 + lane % 16) * 128 + lane / 16 * 16);
  HG_UNROLL for (int group = 0; group < 8; group += 2) {
    const int column = group * 8 + lane % 4 * 2;
    arch::stmatrix_x4(shared.box + (place ^ (group * 16)), word(row, column), word(row + 8, column), word(row, column + 8),
                      word(row + 8, column + 8));
  }
  arch::async_proxy_fence();
  arch::cta_sync();
  if (is_leader()) {
    arch::tma_store(params.out_map, shared.box, params.order.tiles_n, params.order.tiles_m, params.a_step);
    arch::tma_store_commit();
    arch::tma_store_wait_read<0>();
  }
}

}  // namespace hopper_gemm::parity
