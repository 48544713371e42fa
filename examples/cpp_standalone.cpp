// hopper_gemm from C++ without torch: out = A * B in bf16 on a Hopper GPU, or in the emulator where there is none.
// Prints the kernel, where it ran and the largest error; exit status 0 if the product is right.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "hopper_gemm.h"
#if defined(WITH_CUDA_RUNTIME)
#include <cuda_runtime_api.h>
#endif

using namespace hopper_gemm;

namespace {

uint16_t to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

// Small integers: exact in bf16, and so is their product in f32.
float a_at(int64_t row, int64_t k) { return static_cast<float>((row * 3 + k * 5) % 7 - 3); }
float b_at(int64_t k, int64_t column) { return static_cast<float>((k * 2 + column * 11) % 5 - 2); }

double largest_error(const std::vector<float>& out, int64_t m, int64_t n, int64_t k) {
  double largest = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double expected = 0;
      for (int64_t i = 0; i < k; ++i) expected += a_at(row, i) * b_at(i, column);
      largest = std::fmax(largest, std::fabs(expected - out[row * n + column]));
    }
  return largest;
}

#if defined(WITH_CUDA_RUNTIME)
void run_on_gpu(int id, Problem problem, std::vector<float>& out, const std::vector<uint16_t>& a,
                const std::vector<uint16_t>& b) {
  void *device_a, *device_b, *device_out;
  const size_t out_bytes = out.size() * sizeof(float);
  cudaMalloc(&device_a, a.size() * 2);
  cudaMalloc(&device_b, b.size() * 2);
  cudaMalloc(&device_out, out_bytes);
  cudaMemcpy(device_a, a.data(), a.size() * 2, cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b.data(), b.size() * 2, cudaMemcpyHostToDevice);
  problem.a = device_a;
  problem.b = device_b;
  problem.out = device_out;
  gemm(id, problem, {}, /*stream=*/nullptr);
  cudaMemcpy(out.data(), device_out, out_bytes, cudaMemcpyDeviceToHost);
  for (void* memory : {device_a, device_b, device_out}) cudaFree(memory);
}
#endif

}  // namespace

int main() {
  // A is row-major (M, K) and so K-major; B is stored (N, K): the layout "tn".
  const int64_t m = 200, n = 136, k = 96;
  int id = -1;
  for (size_t i = 0; i < kernels().size() && id < 0; ++i) {
    const KernelConfig& c = kernels()[i].config;
    if (c.a_type == DataType::bf16 && c.a_major == Major::k && c.b_major == Major::k && c.uses_tma())
      id = static_cast<int>(i);
  }
  if (id < 0) return std::puts("this build has no bf16 'tn' kernel"), 1;

  std::vector<uint16_t> a(m * k), b(n * k);
  std::vector<float> out(m * n, -1.0f);
  for (int64_t row = 0; row < m; ++row)
    for (int64_t i = 0; i < k; ++i) a[row * k + i] = to_bf16(a_at(row, i));
  for (int64_t column = 0; column < n; ++column)
    for (int64_t i = 0; i < k; ++i) b[column * k + i] = to_bf16(b_at(i, column));
  const Problem problem{.m = m,
                        .n = n,
                        .k = k,
                        .a_type = DataType::bf16,
                        .b_type = DataType::bf16,
                        .output = DataType::f32,
                        .a = a.data(),
                        .a_pitch = k,
                        .a_major = Major::k,
                        .b = b.data(),
                        .b_pitch = k,
                        .b_major = Major::k,
                        .out = out.data(),
                        .out_pitch = n};
  try {
    const char* machine = "the emulator";
#if defined(WITH_CUDA_RUNTIME)
    if (device_info(0).available && kernels()[id].compiled) {
      run_on_gpu(id, problem, out, a, b);
      machine = "the GPU";
    } else
#endif
      gemm_emulated(id, problem, {}, {});
    const double error = largest_error(out, m, n, k);
    std::printf("%s on %s: largest error %g\n", kernels()[id].name.c_str(), machine, error);
    return error == 0 ? 0 : 1;
  } catch (const Error& error) {
    std::printf("hopper_gemm refused: %s\n", error.what());
    return 1;
  }
}
