// hopper_gemm: the C++ interface. Needs neither torch nor CUDA headers; link libhopper_gemm.
//
//   hopper_gemm::Problem p{...};                        // pointers, extents, pitches
//   int id = hopper_gemm::find_kernel("bf16_bf16_f32_tn_128x256x64_c1x1_s4_cooperative_tma");
//   hopper_gemm::gemm(id, p, {}, stream);               // throws hopper_gemm::Error
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "hopper_gemm/core/config.h"
#include "hopper_gemm/core/epilogue_params.h"
#include "hopper_gemm/core/types.h"

namespace hopper_gemm {

// Thrown before anything is launched or written. `kind` says which of torch's error families it belongs to.
struct Error : std::runtime_error {
  enum class Kind { value, type, runtime, not_implemented };
  Error(Kind kind, const std::string& text) : std::runtime_error(text), kind(kind) {}
  Kind kind;
};

// out (m x n) = A (m x k) * B (k x n), or what `epilogue` makes of it (core/epilogue_params.h). Pitches are in elements between consecutive rows of the stored matrix: A K-major is
// stored (m, k), MN-major (k, m); B K-major (n, k), MN-major (k, n); out row-major (m, n), column-major (n, m).
struct Problem {
  int64_t m, n, k;
  DataType a_type, b_type, output;  // tf32: float32 in memory, rounded to tf32 on the way in
  const void* a;
  int64_t a_pitch;
  Major a_major;
  const void* b;
  int64_t b_pitch;
  Major b_major;
  void* out;
  int64_t out_pitch;
  OutputOrder out_order = OutputOrder::row_major;
  // A batch of products in one launch: elements between consecutive matrices, 0 for an operand they all share.
  int64_t batches = 1;
  int64_t a_batch = 0, b_batch = 0, out_batch = 0;
  EpilogueOptions epilogue = {};

  // Extents of the output as it lies in memory.
  int64_t stored_rows() const { return out_order == OutputOrder::row_major ? m : n; }
  int64_t stored_columns() const { return out_order == OutputOrder::row_major ? n : m; }
};

// target = source, bit by bit, for matrices of any non-negative strides (in elements) with up to four batch dimensions.
struct Copy {
  static constexpr int kBatchDims = 4;
  struct Side {
    void* data;
    int64_t row_stride, column_stride;
    int64_t batch_stride[kBatchDims] = {};
  };
  int element_bytes;  // 1, 2 or 4
  int64_t rows, columns;
  Side source, target;
  int64_t padded_columns = 0;                  // the target's columns from `columns` up to here are zeroed
  int64_t batches[kBatchDims] = {1, 1, 1, 1};  // outermost first
  // float32: each row becomes three of padded_columns, the parts of a left or a right operand of a 3xTF32 product.
  enum class Split : int { none, left, right } split = Split::none;
};

// Run-time choices. All but `slices` and Raster::apart leave every bit as it is, as long as what `static_operand` promises
// holds.
struct LaunchOptions {
  Raster raster = Raster::along_m;
  int group = 8;              // tile rows (or columns) walked together, in clusters
  int max_ctas = 0;           // 0: what the device can hold; smaller values leave SMs free (persistent schedules)
  int slices = 1;             // equal parts of K, multiplied side by side and added up in order by a second launch
  void* workspace = nullptr;  // split_k_bytes() of memory on the device, 16-byte aligned, if slices > 1
  // An operand that no work writes which may still be running in the stream at the launch: kernels with a producer may
  // load it before that work has ended.
  StaticOperand static_operand = StaticOperand::none;
};

// Workspace that a product in `slices` parts of K needs; 0 for one.
int64_t split_k_bytes(const Problem& problem, int slices);

// What a launch would be or was: for explain() and tests.
struct LaunchShape {
  int64_t grid;      // CTAs
  int cluster;       // CTAs per cluster
  int threads;       // per CTA
  int shared_bytes;  // dynamic, per CTA
  int tiles_m, tiles_n;
  Store store;  // the path the epilogue takes for this problem
};

struct KernelInfo {
  std::string name;
  KernelConfig config;
  bool compiled;   // for the GPU
  bool emulated;   // for the emulator
  bool automatic;  // may be chosen by the selector (false: ablation kernels)
};

const std::vector<KernelInfo>& kernels();
int find_kernel(const std::string& name);  // -1: not built

// Empty if the config is valid, else the rule it breaks with got / limit / what to do.
std::string config_error(const KernelConfig& config);

// Empty if kernel `id` can run the problem, else which rule and which number forbid it.
std::string problem_error(int id, const Problem& problem);

// Runs on the current CUDA device; `stream` is a cudaStream_t.
void gemm(int id, const Problem& problem, const LaunchOptions& options, void* stream);
LaunchShape launch_shape(int id, const Problem& problem, const LaunchOptions& options);

// One launch for one or two copies, on the current device: packs operands that no kernel reads in place.
void copy(const std::vector<Copy>& copies, void* stream);

struct DeviceInfo {
  bool available;      // a Hopper GPU with a driver that can run this build
  std::string reason;  // if not, why, in a sentence
  std::string name;
  int sm_count, major, minor, driver_version, runtime_version;
  int64_t l2_bytes;
};
DeviceInfo device_info(int device);

// What the driver reports for a compiled kernel.
struct KernelResources {
  int registers, static_shared_bytes, local_bytes, max_threads, resident_clusters;
};
KernelResources kernel_resources(int id, int device);

// --- the emulator: host memory, this process, no GPU
struct EmulatorOptions {
  uint64_t seed = 0;
  int sm_count = 4;    // CTAs that can be resident at once (rounded down to clusters; at least one cluster)
  bool timed = false;  // virtual clock instead of random interleaving: for timelines
  bool trace = false;
  bool protocol_only = false;  // no arithmetic: element (m, n) of the result is emulator::protocol_value(m, n), times the
                               // share of K that was multiplied for it
  bool keep_findings = false;  // return the findings instead of throwing them
};
struct TraceEvent {
  int64_t begin, end;  // virtual cycles (timed) or scheduler steps
  int cta, warpgroup, tile;
  int activity;  // arch::Activity
};
// What one warpgroup waited for or had in flight, beside the activities of its trace.
enum class SpanKind : int { wait, transfer, mma, store };
constexpr int kSpanStages = 64;  // a wait's stage is arch::Wait * kSpanStages + stage
struct TraceSpan {
  int64_t begin, end;
  int cta, warpgroup, stage, kind;
};
struct EmulatorReport {
  std::vector<std::string> findings;  // "kind: sentence" for each protocol error; empty for a correct kernel
  std::vector<TraceEvent> trace;
  std::vector<TraceSpan> spans;
  int64_t steps = 0;
  int64_t stmatrix_rows = 0,
          stmatrix_cycles = 0;       // 16-byte rows written, cycles they took: 8 rows a cycle without bank conflicts
  int64_t early_a = 0, early_b = 0;  // boxes of a static operand that were loaded before the previous grid was waited for
};
// Throws Error(runtime) with the findings if there are any.
EmulatorReport gemm_emulated(int id, const Problem& problem, const LaunchOptions& options, const EmulatorOptions& emulator);
EmulatorReport copy_emulated(const std::vector<Copy>& copies, const EmulatorOptions& emulator);

}  // namespace hopper_gemm
