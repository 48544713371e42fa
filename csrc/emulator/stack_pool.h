// Stacks for fibers: mapped once, each with a guard page below it, and kept between runs (creating one costs as much
// as 500 switches). Used by one run at a time.
#pragma once
#include <cstddef>
#include <vector>

namespace hopper_gemm::emulator {

class StackPool {
 public:
  static constexpr size_t kStackBytes = 64 * 1024;
  static StackPool& instance();

  void* take();  // lowest usable address
  void give(void* stack);

 private:
  void map_more();
  std::vector<void*> free_;
};

}  // namespace hopper_gemm::emulator
