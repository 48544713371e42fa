// The bytes of a tensor of any strides, exactly: what a kernel may read or write of it. Gaps between rows are somebody
// else's, even where they lie between two elements.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hopper_gemm::emulator {

class Footprint {
 public:
  struct Dimension {
    int64_t extent, stride;  // elements
  };
  Footprint(std::string name, const void* address, int element_bytes, const std::vector<Dimension>& dimensions);

  const std::string& name() const { return name_; }
  bool holds(const void* address, int bytes) const;
  bool meets(const void* address, int64_t bytes) const {  // spans, gaps included
    const char* other = static_cast<const char*>(address);
    return begin_ < other + bytes && other < begin_ + span_;
  }

 private:
  void mark(int64_t element, const std::vector<Dimension>& dimensions, size_t next, int element_bytes);

  std::string name_;
  const char* begin_;
  int64_t span_ = 0;         // bytes from the first element's start to the last one's end
  std::vector<bool> bytes_;  // empty for spans too large to list
};

// What a launch may touch besides what a GEMM's parameters say.
struct MemoryMap {
  std::vector<Footprint> reads, writes;
};

}  // namespace hopper_gemm::emulator
