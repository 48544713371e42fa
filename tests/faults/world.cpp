// Runs the world's kernels without arithmetic, seed after seed, and prints what the emulator finds:
//   world [--kernels a,b,...] [--seeds N] [--first S] [--arithmetic]
// One line a run, "run <kernel> <seed> <m>x<n>x<k>", then its findings, "  <kind>: <sentence>". Exit status 0 in any case.
#include "world.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../csrc/dispatch/operands.h"
#include "../../csrc/dispatch/pack.h"
#include "../../csrc/dispatch/plan.h"
#include "hopper_gemm/arch/emu/numeric.h"

namespace hopper_gemm::test {

struct Extents {
  int m, n, k, batches = 1;
};

// Ragged at every edge; rings of 3 or 4 stages wrap more than twice, persistent CTAs do several tiles on two SMs. The
// second and third are not stored by TMA: N is not whole 16 bytes, and odd, so that a row ends within a pair. The third is a
// batch. The last one has a single k-block: shorter than any ring, and nothing at all for one half of a split K.
constexpr Extents kShapes[] = {{200, 136, 584}, {330, 91, 200}, {65, 219, 328, 2}, {264, 128, 456}, {130, 72, 40}};
constexpr int kShapeCount = sizeof kShapes / sizeof kShapes[0];
constexpr int kSmCount = 2;
// Of six seeds two add a bias of 16 bits to every row and nothing else, before a direct store or a TMA store. Of what is left,
// the second four of eight add a bias, every other time one of 16 bits, and the output to itself, in which every element is 1.
enum class Added { nothing, column_bias, bias_and_output };
constexpr Added added(uint64_t seed) {
  if (seed % 6 == 3 || seed % 6 == 4) return Added::column_bias;
  return seed / 4 % 2 == 1 ? Added::bias_and_output : Added::nothing;
}
constexpr int bias_of(int column) { return 1 + column % 5; }
// Of six seeds the first two promise nothing, the next two a static A, the last two a static B.
constexpr StaticOperand static_operand(uint64_t seed) { return static_cast<StaticOperand>(seed / 2 % 3); }

template <class T>
T* aligned(std::vector<T>& data) {
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(data.data()) + 63) & ~uintptr_t{63});
}

std::vector<std::string> run(const WorldKernel& kernel, const Extents& e, uint64_t seed, bool arithmetic) {
  const KernelConfig& c = kernel.config;
  const auto pitch = [](int extent) { return static_cast<int64_t>(round_up(extent, 16) + 16); };
  const bool a_k = c.a_major == Major::k, b_k = c.b_major == Major::k;
  const bool rows = c.is_row_major();
  const int64_t a_pitch = pitch(a_k ? e.k : e.m), b_pitch = pitch(b_k ? e.k : e.n);
  const int64_t out_pitch = pitch(rows ? e.n : e.m) + (e.n == 91);  // of the second, every other row begins within a word
  const int64_t a_batch = a_pitch * (a_k ? e.m : e.k), b_batch = b_pitch * (b_k ? e.n : e.k), out_batch = out_pitch * (rows ? e.m : e.n);
  const auto data = [&](int64_t elements) { return std::vector<uint16_t>((elements * e.batches + 64) * c.element_bytes() / 2 + 64, 0x3C00); };
  std::vector<uint16_t> a = data(a_batch), b = data(b_batch);
  std::vector<float> out(out_batch * e.batches + 64, -7.0f);
  const DataType out_type = seed % 4 == 3 ? DataType::f32 : c.a_type == DataType::f16 ? DataType::f16 : c.a_type == DataType::tf32 ? DataType::f32 : DataType::bf16;
  Problem problem{.m = e.m, .n = e.n, .k = e.k, .a_type = c.a_type, .b_type = c.b_type, .output = out_type, .a = aligned(a), .a_pitch = a_pitch,
                        .a_major = c.a_major, .b = aligned(b), .b_pitch = b_pitch, .b_major = c.b_major, .out = aligned(out),
                        .out_pitch = out_pitch, .out_order = c.output, .batches = e.batches, .a_batch = a_batch, .b_batch = b_batch,
                        .out_batch = out_batch};
  std::vector<float> bias(e.n);
  std::vector<uint16_t> short_bias(e.n);
  const DataType short_type = seed % 4 < 2 ? DataType::bf16 : DataType::f16;
  for (int n = 0; n < e.n; ++n) {
    bias[n] = static_cast<float>(bias_of(n));
    short_bias[n] = short_type == DataType::bf16 ? emulator::bf16_from_float(bias[n]) : emulator::f16_from_float(bias[n]);
  }
  if (added(seed) != Added::nothing) problem.epilogue.bias = {short_bias.data(), short_type, 0, 1};
  if (added(seed) == Added::bias_and_output) {
    if (seed % 2 == 0) problem.epilogue.bias = {bias.data(), DataType::f32, 0, 1};
    problem.epilogue.residual = {aligned(out), out_type, rows ? out_pitch : 1, rows ? 1 : out_pitch, out_batch};
    for (int64_t i = 0; i < out_batch * e.batches; ++i) {
      if (out_type == DataType::f32) aligned(out)[i] = 1.0f;
      else reinterpret_cast<uint16_t*>(aligned(out))[i] = out_type == DataType::bf16 ? 0x3F80 : 0x3C00;
    }
  }
  const Store store = store_path(c, problem);
  const Raster raster = static_cast<Raster>(seed % 3);
  const Plan plan = make_plan(c, problem, {.raster = raster, .group = 2}, store, [&] { return kSmCount / c.cluster_size(); });
  GemmParams params = make_params(c, problem, plan.order, store);
  params.static_operand = static_operand(seed);
  if (c.uses_tma()) encode_operands(params, c, problem, emulator::encode_tensor_map);
  if (store == Store::tma) params.out_map = emulator::encode_tensor_map(out_map_spec(c, problem));
  EmulatorOptions options{.seed = seed, .sm_count = kSmCount};
  options.protocol_only = !arithmetic;
  emulator::Launch launch{kernel.function,     plan.shape.grid, c.cluster_size(), c.threads(), c.shared_bytes(),
                          c.entry_registers(), c.is_persistent(), c.output,         true};
  launch.operand_bytes = c.element_bytes();
  std::vector<std::string> findings = emulator::run(launch, params, options).findings;
  if (arithmetic || !findings.empty()) return findings;
  // bf16 keeps the upper half of a float; these integers are exact in it and in f16.
  const auto value = [&](int batch, int m, int n) -> float {
    const int64_t at = batch * out_batch + (rows ? m * out_pitch + n : n * out_pitch + m);
    if (out_type == DataType::f32) return aligned(out)[at];
    const uint16_t bits = reinterpret_cast<const uint16_t*>(aligned(out))[at];
    return out_type == DataType::bf16 ? emulator::float_from_bf16(bits) : emulator::float_from_f16(bits);
  };
  for (int batch = 0; batch < e.batches; ++batch)
    for (int m = 0; m < e.m; ++m)
      for (int n = 0; n < e.n; ++n) {
        const int addends = added(seed) == Added::nothing ? 0 : bias_of(n) + (added(seed) == Added::bias_and_output ? 1 : 0);
        const float expected = static_cast<float>(emulator::protocol_value(m, n, batch) + addends);
        if (std::fabs(value(batch, m, n) - expected) > 0.01f)
          return {"wrong-result: element (" + std::to_string(m) + ", " + std::to_string(n) + ") of product " + std::to_string(batch) +
                  " is " + std::to_string(value(batch, m, n)) + ", expected " + std::to_string(expected) +
                  ": it was not computed, computed for another place, or lacks parts of K"};
      }
  return {};
}

// The packing kernel: both jobs of a launch, copied from rows off the 16-byte boundary and from strides that need staging. Of
// five seeds one has short rows, of which more lie in a tile; of eight one has adjacent rows.
std::vector<std::string> run_pack(PackFunction function, uint64_t seed) {
  constexpr int rows = 75, pitch = 304;
  const int columns = seed % 5 == 4 ? 45 : 301, padded = round_up(columns, 8);
  const bool column_major = seed % 2 == 1, apart = seed % 4 >= 2;
  const int step = apart ? 2 : 1, outer = step * (column_major ? rows : columns) + (seed % 8 == 4 ? 0 : 5);
  std::vector<uint16_t> source(2 * outer * (column_major ? columns : rows) + 64), target(2 * rows * pitch + 64, 0x7777);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint16_t>(i * 40503u >> 3);
  Copy copy = {};
  copy.element_bytes = 2;
  copy.rows = rows;
  copy.columns = columns;
  copy.padded_columns = padded;
  copy.source = {source.data() + 3 + seed % 8, column_major ? step : outer, column_major ? outer : step};
  copy.target = {aligned(target), pitch, 1};
  Copy second = copy;
  second.target.data = aligned(target) + rows * pitch;
  const PackParams params = pack_params({copy, second});
  emulator::MemoryMap memory;
  for (const Copy& c : {copy, second}) {
    memory.reads.push_back(footprint(c, false));
    memory.writes.push_back(footprint(c, true));
  }
  EmulatorOptions options{.seed = seed, .sm_count = kSmCount};
  emulator::Launch launch{nullptr, pack_grid(params), 1, kPackThreads, pack_shared_bytes(), 40, false, OutputOrder::row_major, true};
  launch.body = [&] { function(params); };
  launch.memory = &memory;
  std::vector<std::string> findings = emulator::run(launch, GemmParams{}, options).findings;
  if (!findings.empty()) return findings;
  const auto* from = static_cast<const uint16_t*>(copy.source.data);
  for (int row = 0; row < 2 * rows; ++row)
    for (int column = 0; column < padded; ++column) {
      const uint16_t expected = column < columns ? from[row % rows * copy.source.row_stride + column * copy.source.column_stride] : 0;
      if (aligned(target)[row * pitch + column] != expected)
        return {"wrong-result: element (" + std::to_string(row % rows) + ", " + std::to_string(column) + ") is not the source's"};
    }
  return {};
}

bool listed(const char* list, const std::string& name) {
  return list == nullptr || (std::string(",") + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace hopper_gemm::test

int main(int argc, char** argv) {
  using namespace hopper_gemm::test;
  const char* names = nullptr;
  int seeds = 20, first = 0;
  bool arithmetic = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--arithmetic") arithmetic = true;
    else if (word == "--kernels" && i + 1 < argc) names = argv[++i];
    else if (word == "--seeds" && i + 1 < argc) seeds = std::atoi(argv[++i]);
    else if (word == "--first" && i + 1 < argc) first = std::atoi(argv[++i]);
  }
  const World all = world();
  for (int seed = first; all.pack != nullptr && listed(names, "pack") && seed < first + seeds; ++seed) {
    std::printf("run pack %d 75x301\n", seed);
    for (const std::string& finding : run_pack(all.pack, seed)) std::printf("  %s\n", finding.c_str());
  }
  for (const WorldKernel* k = all.kernels; k != all.kernels + all.count; ++k) {
    const WorldKernel& kernel = *k;
    if (kernel.function == nullptr || !listed(names, kernel.name)) continue;
    for (int seed = first; seed < first + seeds; ++seed) {
      const Extents& e = kShapes[seed % kShapeCount];
      std::printf("run %s %d %dx%dx%d\n", kernel.name, seed, e.m, e.n, e.k);
      for (const std::string& finding : run(kernel, e, seed, arithmetic)) {
        std::string line = finding;
        for (char& c : line)
          if (c == '\n') c = ';';
        std::printf("  %s\n", line.c_str());
      }
      std::fflush(stdout);
    }
  }
  return 0;
}
