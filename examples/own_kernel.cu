// A kernel of one's own from the templates alone: no manifest, no library, one nvcc command.
//   nvcc -std=c++20 --expt-relaxed-constexpr -gencode=arch=compute_90a,code=sm_90a -I<include> own_kernel.cu
// The config is one constexpr value; everything else (threads, shared memory, boxes) is read off it.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hopper_gemm/core/swizzle.h"
#include "hopper_gemm/kernel/gemm.h"

using namespace hopper_gemm;

// 128 x 160 tiles are in no manifest: two consumer warpgroups on alternating tiles, five stages of 36 KB.
struct MyKernel {
  static constexpr KernelConfig config = {.schedule = Schedule::pingpong,
                                          .a_type = DataType::f16,
                                          .b_type = DataType::f16,
                                          .accumulator = DataType::f32,
                                          .a_major = Major::k,
                                          .b_major = Major::k,
                                          .tile_m = 128,
                                          .tile_n = 160,
                                          .tile_k = 64,
                                          .cluster_m = 1,
                                          .cluster_n = 1,
                                          .stages = 5,
                                          .consumers = 2,
                                          .a_swizzle = Swizzle::b128,
                                          .b_swizzle = Swizzle::b128,
                                          .store = Store::direct,
                                          .mmas_in_flight = 1};
};
constexpr KernelConfig kConfig = MyKernel::config;
static_assert(config_rule(kConfig) == ConfigRule::valid);

namespace {

void require(bool good, const char* what) {
  if (!good) std::printf("%s failed\n", what), std::exit(1);
}

// A tensor map over a row-major (rows, columns) matrix of f16, loaded box by box as `tile` lays it out.
TensorMap tensor_map(void* address, uint64_t rows, uint64_t columns, const OperandTile& tile) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  require(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found) == cudaSuccess,
      "finding cuTensorMapEncodeTiled");
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  const cuuint64_t extent[] = {columns, rows}, pitch[] = {columns * sizeof(float16)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(tile.span()), static_cast<cuuint32_t>(tile.rows())}, strides[] = {1, 1};
  TensorMap map;
  require(encode(reinterpret_cast<CUtensorMap*>(&map), CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, address, extent, pitch, box,
                 strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS,
          "cuTensorMapEncodeTiled");
  return map;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return std::puts("own_kernel: compiled; no GPU to run it on"), 0;

  const int m = 300, n = 320, k = 256;
  const float16 one = {0x3C00}, two = {0x4000};  // so every element of the product is 2 * k
  std::vector<float16> host_a(m * k, one), host_b(n * k, two);
  std::vector<float> host_out(m * n, -1.0f);
  void *a, *b, *out;
  require(cudaMalloc(&a, m * k * 2) == cudaSuccess && cudaMalloc(&b, n * k * 2) == cudaSuccess &&
              cudaMalloc(&out, m * n * sizeof(float)) == cudaSuccess,
          "cudaMalloc");
  cudaMemcpy(a, host_a.data(), m * k * 2, cudaMemcpyHostToDevice);
  cudaMemcpy(b, host_b.data(), n * k * 2, cudaMemcpyHostToDevice);

  GemmParams params{};
  params.a_map = tensor_map(a, m, k, a_tile(kConfig));
  params.b_map = tensor_map(b, n, k, b_tile(kConfig));
  params.a = a, params.b = b, params.out = out;
  params.a_pitch = k, params.b_pitch = k, params.out_pitch = n;
  params.m = m, params.n = n, params.k = k;
  params.order = {
      .tiles_m = ceil_div(m, kConfig.tile_m), .tiles_n = ceil_div(n, kConfig.tile_n), .group = 8, .raster = Raster::along_m};
  params.out_type = DataType::f32;
  params.store = Store::direct;
  params.out_pairs = true;

  const int tiles = params.order.tiles_m * params.order.tiles_n;  // fewer than SMs here, so one tile each
  require(cudaFuncSetAttribute(gemm_kernel<MyKernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, kConfig.shared_bytes()) ==
              cudaSuccess,
          "raising the shared-memory limit");
  gemm_kernel<MyKernel><<<tiles, kConfig.threads(), kConfig.shared_bytes()>>>(params);
  require(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
  cudaMemcpy(host_out.data(), out, host_out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (const float value : host_out) require(value == 2.0f * k, "the product");
  std::printf("own_kernel: %d x %d x %d is right on %d CTAs\n", m, n, k, tiles);
}
