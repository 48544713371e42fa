// The one launch path: problem -> plan -> parameters and tensor maps -> a CUDA launch or a run of the emulator.
#include <cstring>
#include <mutex>

#include "gpu.h"
#include "kernels.h"
#include "problem_error.h"
#include "split_k.h"
#include "text.h"

namespace hopper_gemm {
namespace {

Problem checked(const KernelEntry& entry, const Problem& problem) {
  if (auto error = check_problem(entry.config, problem))
    throw Error(error->kind, text(error->what(), " (kernel ", entry.name, ")"));
  return with_legal_pitches(problem);
}

template <class Encode>
GemmParams params_with_maps(const KernelConfig& config, const Problem& problem, const LaunchOptions& options,
                            const Plan& plan, Encode&& encode) {
  GemmParams params = make_params(config, problem, plan.order, plan.shape.store);
  params.static_operand = options.static_operand;
  if (config.uses_tma()) encode_operands(params, config, problem, encode);
  if (plan.shape.store == Store::tma) params.out_map = encode(out_map_spec(config, problem));
  return params;
}

// Whether the memory of A, from its first element to its last, and that of B have a part in common.
bool operands_overlap(const Problem& p) {
  const auto end = [&](const void* data, int64_t pitch, int64_t batch, int64_t rows, int64_t columns) {
    return static_cast<const char*>(data) +
           ((p.batches - 1) * batch + (rows - 1) * pitch + columns) * element_bytes(p.a_type);
  };
  const bool a_k = p.a_major == Major::k, b_k = p.b_major == Major::k;
  return p.b < end(p.a, p.a_pitch, p.a_batch, a_k ? p.m : p.k, a_k ? p.k : p.m) &&
         p.a < end(p.b, p.b_pitch, p.b_batch, b_k ? p.n : p.k, b_k ? p.k : p.n);
}

void clear_on_host(const Problem& p) {
  const int64_t bytes = element_bytes(p.output);
  for (int64_t batch = 0; batch < p.batches; ++batch)
    for (int64_t row = 0; row < p.stored_rows(); ++row)
      std::memset(static_cast<char*>(p.out) + (batch * p.out_batch + row * p.out_pitch) * bytes, 0,
                  p.stored_columns() * bytes);
}

void check_slices(const KernelEntry& entry, const Problem& problem, const LaunchOptions& options,
                  bool has_workspace = true) {
  std::string error = slices_error(entry.config, problem, options.slices);
  if (error.empty() && has_workspace && options.slices > 1 &&
      (options.workspace == nullptr || reinterpret_cast<uintptr_t>(options.workspace) % 16))
    error = "slices need a workspace of split_k_bytes(), 16-byte aligned";
  if (!error.empty()) throw Error(Error::Kind::value, text(error, " (kernel ", entry.name, ")"));
}

// The launch that sums the slices: one tile a CTA.
struct SliceSumLaunch {
  const KernelEntry& entry;
  LaunchShape shape;
  GemmParams params;
};
SliceSumLaunch slice_sum(const Problem& whole, const Problem& slices) {
  const KernelEntry& entry = slice_sum_entry(whole.out_order, static_cast<int>(slices.batches));
  Plan plan = make_plan(entry.config, whole, {}, Store::direct, [] { return 1; });
  plan.shape.shared_bytes = 0;
  GemmParams params = make_params(entry.config, whole, plan.order, Store::direct);
  read_slices(params, slices);
  return {entry, plan.shape, params};
}

emulator::Launch emulated_launch(const KernelEntry& entry, const LaunchShape& shape) {
  return {.kernel = entry.emulated_function,
          .grid = shape.grid,
          .cluster = shape.cluster,
          .threads = shape.threads,
          .shared_bytes = shape.shared_bytes,
          .entry_registers = entry.config.entry_registers(),
          .is_persistent = entry.config.is_persistent(),
          .output = entry.config.output,
          .overlaps_previous_grid = true,
          .operand_bytes = entry.config.element_bytes()};
}

}  // namespace

EmulatorReport run_in_emulator(const emulator::Launch& launch, const GemmParams& params, const EmulatorOptions& options,
                               const char* kernel) {
  static std::mutex one_at_a_time;  // the emulator's scheduler is one per process
  const std::lock_guard lock(one_at_a_time);
  EmulatorReport report = emulator::run(launch, params, options);
  if (!report.findings.empty() && !options.keep_findings) {
    std::string sentences = text("the emulator found ", report.findings.size(), " protocol error(s) in kernel ", kernel,
                                 " with seed ", options.seed, ":");
    for (const std::string& finding : report.findings) sentences += "\n  " + finding;
    throw Error(Error::Kind::runtime, sentences);
  }
  return report;
}

void gemm(int id, const Problem& given, const LaunchOptions& options, void* stream) {
  const KernelEntry& entry = compiled_entry(id);
  const Problem whole = checked(entry, given);
  check_slices(entry, whole, options);
  if (whole.m == 0 || whole.n == 0 || whole.batches == 0) return;
  const int device = gpu::current_device();
  if (whole.k == 0 && whole.epilogue.is_plain()) return gpu::clear(whole, stream);
  const int resident = gpu::resident_clusters(id, device);
  const Problem problem = options.slices > 1 ? sliced(whole, options.slices, options.workspace) : whole;
  const Plan plan = make_plan(entry.config, problem, options, store_path(entry.config, problem), [&] { return resident; });
  const GemmParams params = params_with_maps(entry.config, problem, options, plan, gpu::encode_tensor_map);
  gpu::arm_watchdog(device);
  gpu::launch(entry, plan.shape, params, stream);
  if (options.slices == 1) return;
  const SliceSumLaunch sum = slice_sum(whole, problem);
  gpu::launch(sum.entry, sum.shape, sum.params, stream);
}

// Of the launch that multiplies. Without a GPU that can run the kernel: what the emulator would launch with its default options.
LaunchShape launch_shape(int id, const Problem& given, const LaunchOptions& options) {
  const KernelEntry& entry = entry_at(id);
  const Problem problem = checked(entry, given);
  const auto resident = [&] {
    const int device = entry.device_function == nullptr ? -1 : gpu::usable_current_device();
    return device < 0 ? EmulatorOptions{}.sm_count / entry.config.cluster_size() : gpu::resident_clusters(id, device);
  };
  check_slices(entry, problem, options, false);
  const Problem launched = options.slices > 1 ? sliced(problem, options.slices, nullptr) : problem;
  return make_plan(entry.config, launched, options, store_path(entry.config, launched), resident).shape;
}

EmulatorReport gemm_emulated(int id, const Problem& given, const LaunchOptions& options, const EmulatorOptions& emulator) {
  const KernelEntry& entry = emulated_entry(id);
  const Problem whole = checked(entry, given);
  check_slices(entry, whole, options);
  if (whole.m == 0 || whole.n == 0 || whole.batches == 0) return {};
  if (whole.k == 0 && whole.epilogue.is_plain()) return clear_on_host(whole), EmulatorReport{};
  const Problem problem = options.slices > 1 ? sliced(whole, options.slices, options.workspace) : whole;
  const KernelConfig& config = entry.config;
  const auto resident = [&] { return emulator.sm_count / config.cluster_size(); };
  const Plan plan = make_plan(config, problem, options, store_path(config, problem), resident);
  const GemmParams params = params_with_maps(config, problem, options, plan, emulator::encode_tensor_map);
  emulator::Launch product = emulated_launch(entry, plan.shape);
  product.operands_overlap = operands_overlap(problem);
  EmulatorReport report = run_in_emulator(product, params, emulator, entry.name);
  if (options.slices == 1) return report;
  const SliceSumLaunch sum = slice_sum(whole, problem);
  emulator::MemoryMap memory;
  memory.reads.push_back(
      {"the slices",
       problem.out,
       4,
       {{problem.batches, problem.out_batch}, {problem.stored_rows(), problem.out_pitch}, {problem.stored_columns(), 1}}});
  memory.writes.push_back({"the output",
                           whole.out,
                           element_bytes(whole.output),
                           {{whole.stored_rows(), whole.out_pitch}, {whole.stored_columns(), 1}}});
  emulator::Launch launch = emulated_launch(sum.entry, sum.shape);
  launch.memory = &memory;
  const EmulatorReport second = run_in_emulator(launch, sum.params, emulator, sum.entry.name);
  report.findings.insert(report.findings.end(), second.findings.begin(), second.findings.end());
  report.steps += second.steps;
  return report;
}

}  // namespace hopper_gemm
