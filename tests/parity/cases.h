// The cases of the parity suite and how they are run. `Machine` is the card (card.cu) or the emulator (emulated.cpp):
//   void* allocate(bytes)                        readable by host and kernel, zeroed
//   TensorMap encode(spec)
//   bool launch(kernel, params, ctas, shared)    one cluster of `ctas` CTAs of 128 threads; waits for it; false: refused
#pragma once
#include <cmath>
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

inline const char* swizzle_name(Swizzle s) {
  return s == Swizzle::none ? "none" : s == Swizzle::b32 ? "32" : s == Swizzle::b64 ? "64" : "128";
}

inline uint16_t bits_of(DataType type, float value) {
  return type == DataType::bf16 ? emulator::bf16_from_float(value) : emulator::f16_from_float(value);
}

inline const char* type_name(DataType type) {
  constexpr const char* names[kDataTypes] = {"bf16", "f16", "f32", "tf32", "e4m3", "e5m2", "s8", "u8", "s32"};
  return names[static_cast<int>(type)];
}

// Small integers (sums of products are exact in every accumulator), or roughly normal values; of integers all values.
inline void fill(unsigned char* to, int count, DataType type, uint32_t seed, bool exact) {
  uint32_t state = seed * 2654435761u + 12345u;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int i = 0; i < count; ++i) {
    float sum = -2.0f;
    for (int j = 0; j < 4; ++j) sum += static_cast<float>(next()) * 0x1p-24f;
    const uint32_t integer = exact ? next() : 0;
    const float value = exact ? static_cast<float>(integer % 5) - 2.0f : sum;
    uint32_t bits = 0;
    switch (type) {
      case DataType::bf16:
      case DataType::f16: bits = bits_of(type, value); break;
      case DataType::e4m3: bits = emulator::e4m3_from_float(value); break;
      case DataType::e5m2: bits = emulator::e5m2_from_float(value); break;
      case DataType::s8:
      case DataType::u8: bits = integer >> 3; break;
      default: std::memcpy(&bits, &value, sizeof bits);
    }
    std::memcpy(to + i * element_bytes(type), &bits, element_bytes(type));
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
  template <DataType kA, DataType kB, DataType kAccumulator, int kN, Major kMajorA, Major kMajorB, Swizzle kSwizzle>
  void mma(bool exact) {
    using Case = Mma<kA, kB, kAccumulator, kN, kMajorA, kMajorB, kSwizzle>;
    const auto operand = [&](const OperandTile& tile, DataType type, uint32_t seed) {
      const int inner = tile.major == Major::k ? tile.k : tile.mn, outer = tile.rows();
      unsigned char* data = static_cast<unsigned char*>(machine.allocate(inner * outer * tile.element_bytes));
      fill(data, inner * outer, type, seed, exact);
      return machine.encode({data,
                             type,
                             {static_cast<uint64_t>(inner), static_cast<uint64_t>(outer)},
                             static_cast<uint64_t>(inner * tile.element_bytes),
                             {static_cast<uint32_t>(tile.span()), static_cast<uint32_t>(outer)},
                             kSwizzle});
    };
    GemmParams params = output(64 * kN);
    params.out_type = kAccumulator == DataType::s32 ? DataType::s32 : DataType::f32;
    params.a_map = operand(Case::a, kA, 1);
    params.b_map = operand(Case::b, kB, 2);
    const bool ran = machine.launch(&mma_kernel<kA, kB, kAccumulator, kN, kMajorA, kMajorB, kSwizzle>, params, 1,
                                    sizeof(typename Case::Shared));
    std::string types = std::string(type_name(kA)) + "_";
    if (element_bytes(kA) == 1) types += std::string(type_name(kB)) + "_";
    types += type_name(kAccumulator);
    writer.add("mma " + types + " n" + std::to_string(kN) + (kMajorA == Major::k ? " A k" : " A mn") +
                   (kMajorB == Major::k ? " B k" : " B mn") + " swizzle " + swizzle_name(kSwizzle) +
                   (exact ? " exact" : " random"),
               ran ? exact ? Kind::exact : Kind::random : Kind::refused, params.out, 64 * kN);
  }
  template <DataType kA, DataType kB, DataType kAccumulator, Swizzle kSwizzle>
  void mma_majors() {
    mma<kA, kB, kAccumulator, 64, Major::k, Major::k, kSwizzle>(true);
    if constexpr (element_bytes(kA) == 2) {
      mma<kA, kB, kAccumulator, 64, Major::k, Major::mn, kSwizzle>(true);
      mma<kA, kB, kAccumulator, 64, Major::mn, Major::k, kSwizzle>(true);
      mma<kA, kB, kAccumulator, 64, Major::mn, Major::mn, kSwizzle>(true);
    }
  }
  template <DataType kA, DataType kB, DataType kAccumulator>
  void mma_type() {
    mma_majors<kA, kB, kAccumulator, Swizzle::b128>();
    mma_majors<kA, kB, kAccumulator, Swizzle::b64>();
    mma_majors<kA, kB, kAccumulator, Swizzle::b32>();
    mma_majors<kA, kB, kAccumulator, Swizzle::none>();
    mma<kA, kB, kAccumulator, 8, Major::k, Major::k, Swizzle::b128>(true);
    mma<kA, kB, kAccumulator, 24, Major::k, Major::k, Swizzle::b128>(true);
    mma<kA, kB, kAccumulator, 256, Major::k, Major::k, Swizzle::b128>(true);
    if constexpr (kAccumulator != DataType::s32) mma<kA, kB, kAccumulator, 64, Major::k, Major::k, Swizzle::b128>(false);
  }

  // --- floats around every boundary of the narrow formats, converted by instructions and by a TFLOAT32 tensor map
  static float boundary(int i) {  // every sign and exponent, with bits that round down, to even both ways, and up
    constexpr uint32_t mantissas[] = {0,          0x00001000, 0x00001001, 0x00003000, 0x00000FFF, 0x00080000,
                                      0x00080001, 0x00180000, 0x100000,   0x00100001, 0x00200000, 0x00300000,
                                      0x00400000, 0x00500000, 0x007FFFFF, 0x00600000};
    const uint32_t bits = static_cast<uint32_t>(i % 512) << 23 | mantissas[i / 512];
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static constexpr int kBoundaries = 8192;

  void conversions() {
    float* data = static_cast<float*>(machine.allocate(kBoundaries * 4));
    for (int i = 0; i < kBoundaries; ++i) data[i] = boundary(i);
    GemmParams params = output(kBoundaries / 2 + kBoundaries);
    params.out_type = DataType::s32;
    params.a = data;
    params.k = kBoundaries;
    const bool ran = machine.launch(&convert_kernel, params, 1, kThreads * 16);
    writer.add("pack to e4m3 and e5m2, round to tf32", ran ? Kind::exact : Kind::refused, params.out,
               kBoundaries / 2 + kBoundaries);
  }

  // Floats of normal size, within some ulp; and what the card may compute exactly.
  void functions() {
    constexpr int count = 4096, exact = 16;
    constexpr float edges[exact] = {0,    1,   -1,   2,     3,      24,        -24,       126,
                                    -126, 127, -150, 1e38f, -1e38f, 0x1p-130f, HUGE_VALF, -HUGE_VALF};
    for (const bool random : {true, false}) {
      const int n = random ? count : exact;
      float* data = static_cast<float*>(machine.allocate(n * 4));
      for (int i = 0; i < n; ++i) data[i] = random ? (i - 2047.75f) / 32 : edges[i];
      GemmParams params = output(5 * n);
      params.out_type = DataType::s32;
      params.a = data;
      params.k = n;
      const bool ran = machine.launch(&function_kernel, params, 1, 1024);
      const auto* words = static_cast<const uint32_t*>(params.out);
      const Kind kind = !ran ? Kind::refused : random ? Kind::random : Kind::question;
      writer.add(random ? "function exp2" : "exp2 of integers, infinities and what is flushed", kind, words, n);
      if (random) writer.add("function reciprocal", kind, words + n, n);
      writer.add(random ? "bf16 to float, loads under a predicate" : "exact loads under a predicate",
                 ran ? Kind::exact : kind, words + 2 * n, n);
      writer.add(random ? "pairs under a predicate" : "exact pairs under a predicate", ran ? Kind::exact : kind,
                 words + 3 * n, 2 * n);
    }
  }

  // 16 signs and exponents from `first` on, each with every mantissa.
  void load_tf32(const char* name, int first, Kind kind) {
    constexpr int columns = 32, rows = 16;
    float* data = static_cast<float*>(machine.allocate(columns * rows * 4));
    for (int i = 0; i < columns * rows; ++i) data[i] = boundary(first + i % 16 + i / 16 % 16 * 512);
    GemmParams params = output(2048);
    params.out_type = DataType::s32;
    params.a_map = machine.encode({data, DataType::tf32, {columns, rows}, columns * 4, {columns, rows}, Swizzle::b128});
    params.order.group = columns * rows * 4;
    const bool ran = machine.launch(&load_kernel, params, 1, sizeof(BoxShared));
    writer.add(std::string("load of tf32: ") + name, ran ? kind : Kind::refused, params.out, 2048);
  }

  // --- TMA load of a box of 16-bit elements from 72 x 20, out of bounds on every side
  void load(Swizzle swizzle, int inner, int k, int m, Kind kind) {
    constexpr int columns = 72, rows = 20;
    uint16_t* data = static_cast<uint16_t*>(machine.allocate(columns * rows * 2));
    for (int i = 0; i < columns * rows; ++i) data[i] = static_cast<uint16_t>(i + 1);
    GemmParams params = output(2048);
    params.a_map =
        machine.encode({data, DataType::bf16, {columns, rows}, columns * 2, {static_cast<uint32_t>(inner), 16}, swizzle});
    params.order.raster = swizzle == Swizzle::b128 ? Raster::along_m : Raster::along_n;  // along_n: with a cache policy
    params.order.group = inner * 16 * 2;
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    const bool ran = machine.launch(&load_kernel, params, 1, sizeof(BoxShared));
    writer.add(std::string("load swizzle ") + swizzle_name(swizzle) + " inner " + std::to_string(inner) + " at " +
                   std::to_string(k) + "," + std::to_string(m),
               ran ? kind : Kind::refused, params.out, 2048);
  }

  // --- TMA store of a 64 x 64 panel into columns x rows of a larger buffer: the buffer as words
  void store(int columns, int rows, int k, int m) {
    constexpr int pitch = 96, buffer_rows = 80;
    uint32_t* buffer = static_cast<uint32_t*>(machine.allocate(pitch * buffer_rows * 2));
    std::memset(buffer, 0xEE, pitch * buffer_rows * 2);
    GemmParams params{};
    params.out_map = machine.encode({buffer + 4 * pitch / 2,
                                     DataType::bf16,
                                     {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)},
                                     pitch * 2,
                                     {64, 64},
                                     Swizzle::b128});
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    const bool ran = machine.launch(&store_kernel, params, 1, sizeof(BoxShared));
    writer.add("store " + std::to_string(columns) + "x" + std::to_string(rows) + " at " + std::to_string(k) + "," +
                   std::to_string(m),
               ran ? Kind::exact : Kind::refused, buffer, pitch * buffer_rows / 2);
  }

  // --- the same of one of three matrices, which follow each other or lie between each other's rows
  void load_of_batch(bool between, int k, int m, int matrix) {
    constexpr int columns = 72, rows = 20, batches = 3;
    const int pitch = between ? 3 * columns : columns, batch = between ? columns : rows * columns + 8;
    uint16_t* data = static_cast<uint16_t*>(machine.allocate(batches * (columns * rows + 8) * 2));
    for (int i = 0; i < batches * (columns * rows + 8); ++i) data[i] = static_cast<uint16_t>(i + 1);
    GemmParams params = output(2048);
    params.a_map = machine.encode({data,
                                   DataType::bf16,
                                   {columns, rows},
                                   static_cast<uint64_t>(pitch * 2),
                                   {64, 16},
                                   Swizzle::b128,
                                   batches,
                                   static_cast<uint64_t>(batch * 2)});
    params.order.group = 64 * 16 * 2;
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    params.a_step = matrix;
    machine.launch(&load_kernel, params, 1, sizeof(BoxShared));
    writer.add(std::string("load of batch") + (between ? ", rows between" : "") + " at " + std::to_string(k) + "," +
                   std::to_string(m) + "," + std::to_string(matrix),
               Kind::exact, static_cast<const uint32_t*>(params.out), 2048);
  }
  void store_to_batch(int k, int m, int matrix) {
    constexpr int pitch = 96, buffer_rows = 3 * 70, columns = 72, rows = 66;
    uint32_t* buffer = static_cast<uint32_t*>(machine.allocate(pitch * buffer_rows * 2));
    std::memset(buffer, 0xEE, pitch * buffer_rows * 2);
    GemmParams params{};
    params.out_map =
        machine.encode({buffer, DataType::bf16, {columns, rows}, pitch * 2, {64, 64}, Swizzle::b128, 3, pitch * 70 * 2});
    params.order.tiles_n = k;
    params.order.tiles_m = m;
    params.a_step = matrix;
    machine.launch(&store_kernel, params, 1, sizeof(BoxShared));
    writer.add("store to batch at " + std::to_string(k) + "," + std::to_string(m) + "," + std::to_string(matrix),
               Kind::exact, buffer, pitch * buffer_rows / 2);
  }

  void run() {
    using enum DataType;
    mma_type<bf16, bf16, f32>();
    mma_type<f16, f16, f32>();
    mma_type<f16, f16, f16>();
    mma_type<tf32, tf32, f32>();
    mma_type<e4m3, e4m3, f32>();
    mma_type<e4m3, e5m2, f32>();
    mma_type<e5m2, e4m3, f32>();
    mma_type<e5m2, e5m2, f32>();
    mma_type<s8, s8, s32>();
    mma_type<s8, u8, s32>();
    mma_type<u8, s8, s32>();
    mma_type<u8, u8, s32>();
    conversions();
    functions();
    load_tf32("around 1", 120, Kind::exact);
    load_tf32("around -1", 376, Kind::exact);
    load_tf32("the largest numbers, infinities, NaN, negative subnormals", 248, Kind::question);
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
