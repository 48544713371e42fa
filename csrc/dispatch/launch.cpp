// The one launch path: problem -> plan -> parameters and tensor maps -> a CUDA launch or a run of the emulator.
#include <cstring>
#include <mutex>

#include "gpu.h"
#include "kernels.h"
#include "problem_error.h"
#include "text.h"

namespace hopper_gemm {
namespace {

Problem checked(const KernelEntry& entry, const Problem& problem) {
  if (auto error = check_problem(entry.config, problem)) throw Error(error->kind, text(error->what(), " (kernel ", entry.name, ")"));
  return with_legal_pitches(problem);
}

template <class Encode>
GemmParams params_with_maps(const KernelConfig& config, const Problem& problem, const Plan& plan, Encode&& encode) {
  GemmParams params = make_params(problem, plan.order, plan.shape.store);
  if (config.uses_tma()) {
    params.a_map = encode(a_map_spec(config, problem));
    params.b_map = encode(b_map_spec(config, problem));
  }
  if (plan.shape.store == Store::tma) params.out_map = encode(out_map_spec(config, problem));
  return params;
}

void clear_on_host(const Problem& p) {
  const int64_t bytes = element_bytes(p.output);
  for (int64_t batch = 0; batch < p.batches; ++batch)
    for (int64_t row = 0; row < p.stored_rows(); ++row)
      std::memset(static_cast<char*>(p.out) + (batch * p.out_batch + row * p.out_pitch) * bytes, 0, p.stored_columns() * bytes);
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
  const Problem problem = checked(entry, given);
  if (problem.m == 0 || problem.n == 0 || problem.batches == 0) return;
  const int device = gpu::current_device();
  if (problem.k == 0) return gpu::clear(problem, stream);
  const int resident = gpu::resident_clusters(id, device);
  const Plan plan = make_plan(entry.config, problem, options, store_path(entry.config, problem), [&] { return resident; });
  const GemmParams params = params_with_maps(entry.config, problem, plan, gpu::encode_tensor_map);
  gpu::arm_watchdog(device);
  gpu::launch(entry, plan.shape, params, stream);
}

// Without a GPU that can run the kernel: what the emulator would launch with its default options.
LaunchShape launch_shape(int id, const Problem& given, const LaunchOptions& options) {
  const KernelEntry& entry = entry_at(id);
  const Problem problem = checked(entry, given);
  const auto resident = [&] {
    const int device = entry.device_function == nullptr ? -1 : gpu::usable_current_device();
    return device < 0 ? EmulatorOptions{}.sm_count / entry.config.cluster_size() : gpu::resident_clusters(id, device);
  };
  return make_plan(entry.config, problem, options, store_path(entry.config, problem), resident).shape;
}

EmulatorReport gemm_emulated(int id, const Problem& given, const LaunchOptions& options, const EmulatorOptions& emulator) {
  const KernelEntry& entry = emulated_entry(id);
  const Problem problem = checked(entry, given);
  if (problem.m == 0 || problem.n == 0 || problem.batches == 0) return {};
  if (problem.k == 0) return clear_on_host(problem), EmulatorReport{};
  const KernelConfig& config = entry.config;
  const auto resident = [&] { return emulator.sm_count / config.cluster_size(); };
  const Plan plan = make_plan(config, problem, options, store_path(config, problem), resident);
  const GemmParams params = params_with_maps(config, problem, plan, emulator::encode_tensor_map);
  const emulator::Launch launch{.kernel = entry.emulated_function,
                                .grid = plan.shape.grid,
                                .cluster = plan.shape.cluster,
                                .threads = plan.shape.threads,
                                .shared_bytes = plan.shape.shared_bytes,
                                .entry_registers = config.entry_registers(),
                                .is_persistent = config.is_persistent(),
                                .output = config.output,
                                .overlaps_previous_grid = true};
  return run_in_emulator(launch, params, emulator, entry.name);
}

}  // namespace hopper_gemm
