// Vector clocks: what a thread or a barrier knows to have happened. Race detection by happens-before finds a missing wait
// in every run, not only in those where the timing makes it hurt.
//
// A component is one thing whose progress others can learn of: phases of an mbarrier, wgmma groups that a warp
// has waited for, read TMA-store groups or finished cp.async groups of a thread, warp-wide operations of a warp. Components
// are numbered within a cluster, when they are first needed, so that clocks stay short.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace hopper_gemm::emulator {

constexpr uint32_t kNoComponent = ~uint32_t{0};

// "Component `component` has reached `value`": the moment an access is over.
struct Epoch {
  uint32_t component = kNoComponent;
  uint32_t value = 0;
  uint32_t width = 1;  // of as many components, beginning with `component`: each of a warpgroup's warps
  bool operator==(const Epoch&) const = default;
};

class Clock {
 public:
  uint32_t at(uint32_t component) const { return component < values_.size() ? values_[component] : 0; }
  bool knows(const Epoch& epoch) const {
    if (epoch.component == kNoComponent) return true;
    for (uint32_t i = 0; i < epoch.width; ++i)
      if (at(epoch.component + i) < epoch.value) return false;
    return true;
  }
  void raise(uint32_t component, uint32_t value) {
    if (component >= values_.size()) values_.resize(component + 1);
    values_[component] = std::max(values_[component], value);
  }
  void join(const Clock& other) {
    if (other.values_.size() > values_.size()) values_.resize(other.values_.size());
    for (size_t i = 0; i < other.values_.size(); ++i) values_[i] = std::max(values_[i], other.values_[i]);
  }
  void clear() { values_.clear(); }

 private:
  std::vector<uint32_t> values_;
};

}  // namespace hopper_gemm::emulator
