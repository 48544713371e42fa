// Lists the bytes of a strided tensor.
#include "footprint.h"

#include <algorithm>

namespace hopper_gemm::emulator {

namespace {
constexpr int64_t kMostListed = int64_t{1} << 28;  // bytes of a span; beyond, the span itself is what may be touched
}

Footprint::Footprint(std::string name, const void* address, int element_bytes, const std::vector<Dimension>& dimensions)
    : name_(std::move(name)), begin_(static_cast<const char*>(address)) {
  for (const Dimension& d : dimensions)
    if (d.extent == 0) return;
  span_ = element_bytes;
  for (const Dimension& d : dimensions) span_ += (d.extent - 1) * d.stride * element_bytes;
  if (span_ > kMostListed) return;
  bytes_.resize(span_);
  mark(0, dimensions, 0, element_bytes);
}

void Footprint::mark(int64_t element, const std::vector<Dimension>& dimensions, size_t next, int element_bytes) {
  if (next == dimensions.size()) {
    std::fill_n(bytes_.begin() + element * element_bytes, element_bytes, true);
    return;
  }
  const Dimension& d = dimensions[next];
  const int64_t distinct = d.stride == 0 ? 1 : d.extent;
  for (int64_t i = 0; i < distinct; ++i) mark(element + i * d.stride, dimensions, next + 1, element_bytes);
}

bool Footprint::holds(const void* address, int bytes) const {
  const int64_t offset = static_cast<const char*>(address) - begin_;
  if (offset < 0 || offset + bytes > span_) return false;
  if (bytes_.empty()) return true;
  return std::all_of(bytes_.begin() + offset, bytes_.begin() + offset + bytes, [](bool is_element) { return is_element; });
}

}  // namespace hopper_gemm::emulator
