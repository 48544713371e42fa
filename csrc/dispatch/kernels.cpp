// The public list of kernels, built once from the generated table.
#include "kernels.h"

#include <unordered_map>

#include "text.h"

namespace hopper_gemm {

const std::vector<KernelInfo>& kernels() {
  static const std::vector<KernelInfo> list = [] {
    std::vector<KernelInfo> infos;
    const KernelTable table = kernel_table();
    for (const KernelEntry* e = table.entries; e != table.entries + table.count; ++e)
      infos.push_back({e->name, e->config, e->device_function != nullptr, e->emulated_function != nullptr, e->automatic});
    return infos;
  }();
  return list;
}

int find_kernel(const std::string& name) {
  static const std::unordered_map<std::string, int> ids = [] {
    std::unordered_map<std::string, int> map;
    for (const KernelInfo& info : kernels()) map.emplace(info.name, static_cast<int>(map.size()));
    return map;
  }();
  const auto found = ids.find(name);
  return found == ids.end() ? -1 : found->second;
}

const KernelEntry& entry_at(int id) {
  const KernelTable table = kernel_table();
  if (id < 0 || id >= table.count)
    throw Error(Error::Kind::value,
                text("kernel id ", id, " does not exist: this build has ", table.count, " kernels, 0 to ", table.count - 1,
                     "; find_kernel(name) returns -1 for one it lacks"));
  return table.entries[id];
}

const KernelEntry& compiled_entry(int id) {
  const KernelEntry& entry = entry_at(id);
  if (entry.device_function == nullptr)
    throw Error(Error::Kind::runtime,
                text("kernel ", entry.name,
                     " is not compiled for the GPU: this build has the emulator only. "
                     "Build again where nvcc 13 is found (CUDACXX, CUDA_HOME or PATH), with -DHG_CUDA=ON to insist"));
  return entry;
}

const KernelEntry& emulated_entry(int id) {
  const KernelEntry& entry = entry_at(id);
  if (entry.emulated_function == nullptr)
    throw Error(Error::Kind::runtime, text("kernel ", entry.name, " is not built for the emulator (HG_EMULATOR=OFF)"));
  return entry;
}

}  // namespace hopper_gemm
