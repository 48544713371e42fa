// Runs a kernel type of the library in the emulator on random data and compares with a float64 product.
#pragma once
#include <cmath>

#include "../../csrc/emulator/emulator.h"
#include "emulator_check.h"
#include "hopper_gemm/core/boxes.h"
#include "hopper_gemm/kernel/gemm.h"

namespace hopper_gemm::test {

struct Shape {
  int m, n, k;
};

template <class K>
struct EmulatedGemm {
  static constexpr KernelConfig c = K::config;
  Shape shape;
  DataType out_type = c.a_type;
  EmulatorOptions options{};
  std::vector<uint16_t> a, b;
  std::vector<unsigned char> out;
  int64_t a_pitch, b_pitch, out_pitch;

  explicit EmulatedGemm(Shape shape) : shape(shape) {
    const auto pitch = [](int extent) { return static_cast<int64_t>(round_up(extent, 8) + 8); };
    a_pitch = pitch(c.a_major == Major::k ? shape.k : shape.m);
    b_pitch = pitch(c.b_major == Major::k ? shape.k : shape.n);
    out_pitch = pitch(shape.n);
    a = random_values(a_pitch * (c.a_major == Major::k ? shape.m : shape.k) + 64, c.a_type, 1);
    b = random_values(b_pitch * (c.b_major == Major::k ? shape.n : shape.k) + 64, c.a_type, 2);
  }

  template <class T>
  static T* aligned(std::vector<T>& data) {
    return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(data.data()) + 15) & ~uintptr_t{15});
  }

  static TensorMap operand_map(const OperandTile& tile, int box_rows, void* address, int mn, int k, int64_t pitch) {
    const bool k_major = tile.major == Major::k;
    return emulator::encode_tensor_map({address,
                                        c.a_type,
                                        {static_cast<uint64_t>(k_major ? k : mn), static_cast<uint64_t>(k_major ? mn : k)},
                                        static_cast<uint64_t>(pitch * 2),
                                        {static_cast<uint32_t>(tile.span()), static_cast<uint32_t>(box_rows)},
                                        tile.swizzle});
  }

  EmulatorReport run() {
    out.assign(out_pitch * shape.m * element_bytes(out_type) + 64, 0xCC);
    const int tiles_m = ceil_div(ceil_div(shape.m, c.tile_m), c.cluster_m) * c.cluster_m;
    const int tiles_n = ceil_div(ceil_div(shape.n, c.tile_n), c.cluster_n) * c.cluster_n;
    int grid = tiles_m * tiles_n * c.cluster_k;
    const int resident = std::max(1, options.sm_count / c.cluster_size()) * c.cluster_size();
    if (c.is_persistent() && grid > resident) grid = resident;

    GemmParams params{};
    params.a = aligned(a);
    params.b = aligned(b);
    params.out = aligned(out);
    params.a_pitch = a_pitch;
    params.b_pitch = b_pitch;
    params.out_pitch = out_pitch;
    params.m = shape.m;
    params.n = shape.n;
    params.k = shape.k;
    params.a_edge = edge_boxes(a_tile(c), c.a_sharers(), shape.m);
    params.b_edge = edge_boxes(b_tile(c), c.b_sharers(), shape.n);
    params.order = {tiles_m, tiles_n, 2, Raster::along_m};
    params.out_type = out_type;
    // TMA stores clip at whole 16 bytes: csrc/dispatch/operands.cpp, store_path.
    params.store = out_type == DataType::f32 || c.store == Store::direct ? Store::direct
                   : shape.n % 8 != 0                                    ? (c.stores_rows() ? Store::rows : Store::direct)
                                                                         : Store::tma;
    params.out_pairs = true;
    const OperandTile a_of = a_tile(c), b_of = b_tile(c);
    params.a_map = operand_map(a_of, whole_box_rows(a_of, c.a_sharers()), aligned(a), shape.m, shape.k, a_pitch);
    params.b_map = operand_map(b_of, whole_box_rows(b_of, c.b_sharers()), aligned(b), shape.n, shape.k, b_pitch);
    if (params.a_edge.exist())
      params.a_edge_map = operand_map(a_of, params.a_edge.rows, aligned(a), shape.m, shape.k, a_pitch);
    if (params.b_edge.exist())
      params.b_edge_map = operand_map(b_of, params.b_edge.rows, aligned(b), shape.n, shape.k, b_pitch);
    if (params.store == Store::tma)
      params.out_map = emulator::encode_tensor_map({params.out,
                                                    out_type,
                                                    {static_cast<uint64_t>(shape.n), static_cast<uint64_t>(shape.m)},
                                                    static_cast<uint64_t>(out_pitch * 2),
                                                    {static_cast<uint32_t>(c.panel_n()), kMmaM},
                                                    c.panel_swizzle()});
    return emulator::run(
        {&gemm_kernel<K>, grid, c.cluster_size(), c.threads(), c.shared_bytes(), c.entry_registers(), c.is_persistent()},
        params, options);
  }

  // Within the project's error bound everywhere, and nothing written between the rows.
  bool correct() {
    const double u = out_type == DataType::bf16 ? 0x1p-8 : out_type == DataType::f16 ? 0x1p-11 : 0x1p-24;
    const double step = c.accumulator == DataType::f16 ? 0x1p-11 : 0x1p-23;
    int wrong = 0;
    for (int m = 0; m < shape.m; ++m) {
      for (int n = 0; n < shape.n; ++n) {
        double reference = 0, magnitude = 0;
        for (int k = 0; k < shape.k; ++k) {
          const double product = static_cast<double>(value_of(
                                     c.a_type, aligned(a)[c.a_major == Major::k ? m * a_pitch + k : k * a_pitch + m])) *
                                 value_of(c.a_type, aligned(b)[c.b_major == Major::k ? n * b_pitch + k : k * b_pitch + n]);
          reference += product;
          magnitude += std::fabs(product);
        }
        const double got = output(m, n);
        const double bound = u * std::fabs(reference) + (shape.k / 16.0 + 8) * step * magnitude;
        if (!(std::fabs(got - reference) <= bound) && ++wrong == 1)
          std::fprintf(stderr, "  (%d, %d): got %g, expected %g\n", m, n, got, reference);
      }
      const int element = element_bytes(out_type);
      for (int64_t i = shape.n * element; i < out_pitch * element; ++i)
        wrong += aligned(out)[m * out_pitch * element + i] != 0xCC;
    }
    return wrong == 0;
  }

  double output(int m, int n) {
    const unsigned char* at = aligned(out) + (m * out_pitch + n) * element_bytes(out_type);
    if (out_type == DataType::f32) return *reinterpret_cast<const float*>(at);
    return value_of(out_type, *reinterpret_cast<const uint16_t*>(at));
  }
};

}  // namespace hopper_gemm::test
