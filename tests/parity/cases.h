// The cases of the parity suite and how they are run. `Machine` is the card (card.cu) or the emulator (emulated.cpp):
//   void* allocate(bytes)                        readable by host and kernel, zeroed
//   TensorMap encode(spec)
//   bool launch(kernel, params, ctas, shared)    one cluster of `ctas` CTAs of 128 threads; waits for it; false: refused
#pragma once
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../../csrc/emulator/emulator.h"
#include "hopper_gemm/arch/emu/numeric.h"
#include "kernels.h"

namespace hopper_gemm::parity {

// exact: must be equal word by word. random: real arithmetic, compared in ulp. question: what only the card can say.
// refused: the machine stopped the kernel (an illegal instruction on the card, the sentence that says so in the emulator).
enum class Kind : uint32_t { exact, random, question, refused };

struct Writer {
  std::FILE* file;
  int cases = 0;
  void add(const std::string& name, Kind kind, const void* words, uint32_t count) {
    if (kind == Kind::refused) count = 0;
    const uint32_t head[] = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(kind), count};
    std::fwrite(head, sizeof head, 1, file);
    std::fwrite(name.data(), 1, name.size(), file);
    std::fwrite(words, 4, count, file);
    ++cases;
  }
};

inline const char* swizzle_name(Swizzle s) { return s == Swizzle::none ? "none" : s == Swizzle::b32 ? "32" : s == Swizzle::b64 ? "64" : "128"; }

inline uint16_t bits_of(DataType type, float value) {
  return type == DataType::bf16 ? emulator::bf16_from_float(value) : emulator::f16_from_float(value);
}

// Small integers (sums of products are exact in every accumulator), or roughly normal values.
inline void fill(uint16_t* to, int count, DataType type, uint32_t seed, bool exact) {
  uint32_t state = seed * 2654435761u + 12345u;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int i = 0; i < count; ++i) {
    float sum = -2.0f;
    for (int j = 0; j < 4; ++j) sum += static_cast<float>(next()) * 0x1p-24f;
    to[i] = bits_of(type, exact ? static_cast<float>(next() % 5) - 2.0f : sum);
  }
}

template <class Machine>
struct Suite {
  Machine machine;
  Writer writer;

  GemmParams output(int words) {
    GemmParams params{};
    params.out = machine.allocate(words * 4);
    params.out_pitch = params.n = words;
    params.m = 1;
    params.out_type = DataType::f32;
    return params;
  }

  // --- TMA load + wgmma
  template <DataType kInput, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, Swizzle kSwizzle>
  void mma(bool exact) {
    using Case = Mma<kInput, kAccumulator, kN, kMajorA, kMajorB, kSwizzle>;
    const auto operand = [&](const OperandTile& tile, uint32_t seed) {
      const int inner = tile.major == Major::k ? tile.k : tile.mn, outer = tile.rows();
      uint16_t* data = static_cast<uint16_t*>(machine.allocate(inner * outer * 2));
      fill(data, inner * outer, kInput, seed, exact);
      return machine.encode({data, kInput, {static_cast<uint64_t>(inner), static_cast<uint64_t>(outer)},
                             static_cast<uint64_t>(inner * 2), {static_cast<uint32_t>(tile.span()), static_cast<uint32_t>(outer)},
                             kSwizzle});
    };
    GemmParams params = output(64 * kN);
    params.a_map = operand(Case::a, 1);
    params.b_map = operand(Case::b, 2);
    const bool ran = machine.launch(&mma_kernel<kInput, kAccumulator, kN, kMajorA, kMajorB, kSwizzle>, params, 1, sizeof(typename Case::Shared));
    const std::string types = kInput == DataType::bf16 ? "bf16_f32" : kAccumulator == DataType::f16 ? "f16_f16" : "f16_f32";
    writer.add("mma " + types + " n" + std::to_string(kN) + (kMajorA == Major::k ? " A k" : " A mn") +
                   (kMajorB == Major::k ? " B k" : " B mn") + " swizzle " + swizzle_name(kSwizzle) + (exact ? " exact" : " random"),
               ran ? exact ? Kind::exact : Kind::random : Kind::refused, params.out, 64 * kN);
  }
  template <DataType kInput, DataType kAccumulator, Swizzle kSwizzle>
  void mma_majors() {
    mma<kInput, kAccumulator, 64, Major::k, Major::k, kSwizzle>(true);
    mma<kInput, kAccumulator, 64, Major::k, Major::mn, kSwizzle>(true);
    mma<kInput, kAccumulator, 64, Major::mn, Major::k, kSwizzle>(true);
    mma<kInput, kAccumulator, 64, Major::mn, Major::mn, kSwizzle>(true);
  }
  template <DataType kInput, DataType kAccumulator>
  void mma_type() {
    mma_majors<kInput, kAccumulator, Swizzle::b128>();
    mma_majors<kInput, kAccumulator, Swizzle::b64>();
    mma_majors<kInput, kAccumulator, Swizzle::b32>();
    mma_majors<kInput, kAccumulator, Swizzle::none>();
    mma<kInput, kAccumulator, 8, Major::k, Major::k, Swizzle::b128>(true);
    mma<kInput, kAccumulator, 24, Major::k, Major::k, Swizzle::b128>(true);
    mma<kInput, kAccumulator, 256, Major::k, Major::k, Swizzle::b128>(true);
    mma<kInput, kAccumulator, 64, Major::k, Major::k, Swizzle::b128>(false);
  }

  // --- TMA load of a box of 16-bit elements from 72 x 20, out of bounds on every side
  void load(Swizzle swizzle, int inner, int k, int m, Kind kind) {
    constexpr int columns = 72, rows = 20;
    uint16_t* data = static_cast<uint16_t*>(machine.allocate(columns * rows * 2));
    for (int i = 0; i < columns * rows; ++i) data[i] = static_cast<uint16_t>(i + 1);
    GemmParams params = output(2048);
    params.a_map = machine.encode({data, DataType::bf16, {columns, rows}, columns * 2, {static_cast<uint32_t>(inner), 16}, swizzle});
    params.order.group = inner * 16 * 2;
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    const bool ran = machine.launch(&load_kernel, params, 1, sizeof(BoxShared));
    writer.add(std::string("load swizzle ") + swizzle_name(swizzle) + " inner " + std::to_string(inner) + " at " + std::to_string(k) +
                   "," + std::to_string(m),
               ran ? kind : Kind::refused, params.out, 2048);
  }

  // --- TMA store of a 64 x 64 panel into columns x rows of a larger buffer: the buffer as words
  void store(int columns, int rows, int k, int m) {
    constexpr int pitch = 96, buffer_rows = 80;
    uint32_t* buffer = static_cast<uint32_t*>(machine.allocate(pitch * buffer_rows * 2));
    std::memset(buffer, 0xEE, pitch * buffer_rows * 2);
    GemmParams params{};
    params.out_map = machine.encode({buffer + 4 * pitch / 2, DataType::bf16, {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)},
                                     pitch * 2, {64, 64}, Swizzle::b128});
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    const bool ran = machine.launch(&store_kernel, params, 1, sizeof(BoxShared));
    writer.add("store " + std::to_string(columns) + "x" + std::to_string(rows) + " at " + std::to_string(k) + "," + std::to_string(m),
               ran ? Kind::exact : Kind::refused, buffer, pitch * buffer_rows / 2);
  }

  // --- the same of one of three matrices, which follow each other or lie between each other's rows
  void load_of_batch(bool between, int k, int m, int matrix) {
    constexpr int columns = 72, rows = 20, batches = 3;
    const int pitch = between ? 3 * columns : columns, batch = between ? columns : rows * columns + 8;
    uint16_t* data = static_cast<uint16_t*>(machine.allocate(batches * (columns * rows + 8) * 2));
    for (int i = 0; i < batches * (columns * rows + 8); ++i) data[i] = static_cast<uint16_t>(i + 1);
    GemmParams params = output(2048);
    params.a_map = machine.encode({data, DataType::bf16, {columns, rows}, static_cast<uint64_t>(pitch * 2), {64, 16}, Swizzle::b128,
                                   batches, static_cast<uint64_t>(batch * 2)});
    params.order.group = 64 * 16 * 2;
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    params.a_step = matrix;
    machine.launch(&load_kernel, params, 1, sizeof(BoxShared));
    writer.add(std::string("load of batch") + (between ? ", rows between" : "") + " at " + std::to_string(k) + "," + std::to_string(m) +
                   "," + std::to_string(matrix),
               Kind::exact, static_cast<const uint32_t*>(params.out), 2048);
  }
  void store_to_batch(int k, int m, int matrix) {
    constexpr int pitch = 96, buffer_rows = 3 * 70, columns = 72, rows = 66;
    uint32_t* buffer = static_cast<uint32_t*>(machine.allocate(pitch * buffer_rows * 2));
    std::memset(buffer, 0xEE, pitch * buffer_rows * 2);
    GemmParams params{};
    params.out_map = machine.encode({buffer, DataType::bf16, {columns, rows}, pitch * 2, {64, 64}, Swizzle::b128, 3, pitch * 70 * 2});
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    params.a_step = matrix;
    machine.launch(&store_kernel, params, 1, sizeof(BoxShared));
    writer.add("store to batch at " + std::to_string(k) + "," + std::to_string(m) + "," + std::to_string(matrix), Kind::exact, buffer,
               pitch * buffer_rows / 2);
  }

  void run() {
    mma_type<DataType::bf16, DataType::f32>();
    mma_type<DataType::f16, DataType::f32>();
    mma_type<DataType::f16, DataType::f16>();
    constexpr int places[][2] = {{0, 0}, {64, 16}, {-8, -4}, {200, 0}, {0, 30}, {8, 1}, {-16, 7}, {3, 1}, {4, 0}, {-5, 7}};
    for (const auto& [k, m] : places) {
      load(Swizzle::b128, 64, k, m, Kind::exact);
      load(Swizzle::b64, 32, k, m, Kind::exact);
      load(Swizzle::b32, 16, k, m, Kind::exact);
      load(Swizzle::none, 8, k, m, Kind::exact);
      load(Swizzle::none, 64, k, m, Kind::exact);
    }
    // Rows shorter than the span: which pitch do they get?
    load(Swizzle::b128, 32, 0, 0, Kind::question);
    load(Swizzle::b128, 16, 0, 0, Kind::question);
    load(Swizzle::b64, 16, 0, 0, Kind::question);
    for (const int columns : {64, 72, 1, 7, 9, 66, 250 - 192}) {
      store(columns, 64, 0, 0);
      store(columns, 40, 8, 8);
    }
    for (const int k : {-64, -8, -4, 3, 4, 8, 56, 64}) store(72, 64, k, 0);
    store(72, 64, 0, -4);
    store(61, 50, -3, 5);
    for (const int matrix : {0, 1, 2, 3, -1}) {
      load_of_batch(false, 8, 10, matrix);
      load_of_batch(true, -8, 4, matrix);
      store_to_batch(8, 8, matrix);
    }
    GemmParams params = output(2048);
    bool ran = machine.launch(&stmatrix_kernel, params, 1, sizeof(BoxShared));
    writer.add("stmatrix x4 and x2", ran ? Kind::exact : Kind::refused, params.out, 2048);
    params = output(3072);
    uint16_t* rows = static_cast<uint16_t*>(machine.allocate(64 * 64 * 2));
    for (int i = 0; i < 64 * 64; ++i) rows[i] = static_cast<uint16_t>(i);
    params.a_map = machine.encode({rows, DataType::bf16, {64, 64}, 128, {64, 8}, Swizzle::b128});
    ran = machine.launch(&multicast_kernel, params, 2, sizeof(BoxShared));
    writer.add("multicast, three phases", ran ? Kind::exact : Kind::refused, params.out, 3072);
  }
};

template <class Machine>
int main_of(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s OUTPUT\n", argv[0]), 2;
  Suite<Machine> suite;
  suite.writer.file = std::fopen(argv[1], "wb");
  if (suite.writer.file == nullptr) return std::perror(argv[1]), 1;
  suite.run();
  std::fclose(suite.writer.file);
  std::printf("%d cases\n", suite.writer.cases);
  return 0;
}

}  // namespace hopper_gemm::parity
