// What a launch depends on, but for addresses and for the values of alpha and beta, as words.
#pragma once
#include <c10/util/SmallVector.h>

#include <algorithm>

#include "arguments.h"

namespace hopper_gemm {

class LaunchKey {
 public:
  // False for tensors that are not remembered: of too many dimensions, without strides, or whose values are not those in memory.
  bool read(const Arguments& given) {
    for (const auto place : {Arguments::a, Arguments::b, Arguments::out})
      if (!add(given.tensors[place])) return false;
    if (given.is_plain()) return true;
    words_.push_back(int64_t{static_cast<int>(given.activation)} << 1 | (given.beta == 0));
    return std::all_of(given.tensors + Arguments::c, given.tensors + Arguments::kTensors,
                       [this](const at::Tensor* tensor) { return add(tensor); });
  }

  bool operator==(const LaunchKey& other) const { return words_ == other.words_; }

  struct Hash {
    size_t operator()(const LaunchKey& key) const {
      uint64_t h = 0;
      for (const int64_t word : key.words_) h = (h ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
      return h;
    }
  };

 private:
  static constexpr int kMaxDims = 6;

  bool add(const at::Tensor* tensor) {
    if (tensor == nullptr) return words_.push_back(-1), true;
    const int64_t dims = tensor->dim();
    if (dims > kMaxDims || tensor->layout() != c10::kStrided || tensor->is_neg()) return false;
    const auto device = tensor->device();
    words_.push_back(dims | int64_t{static_cast<uint8_t>(tensor->scalar_type())} << 8 |
                     int64_t{static_cast<uint8_t>(device.type())} << 16 |
                     int64_t{static_cast<uint8_t>(device.index())} << 24);
    const auto sizes = tensor->sizes(), strides = tensor->strides();
    for (int64_t d = 0; d < dims; ++d) words_.push_back(sizes[d]), words_.push_back(strides[d]);
    return true;
  }

  c10::SmallVector<int64_t, 48> words_;  // of a layer without leaving the stack
};

}  // namespace hopper_gemm
