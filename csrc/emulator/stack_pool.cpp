// Stacks are mapped 64 at a time: fewer system calls, and neighbours differ by an odd number of pages so that the
// tops of all stacks do not fall into the same cache sets.
#include "stack_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include "hopper_gemm.h"

namespace hopper_gemm::emulator {

namespace {
size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
}  // namespace

StackPool& StackPool::instance() {
  static StackPool pool;
  return pool;
}

void* StackPool::take() {
  if (free_.empty()) map_more();
  void* stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::give(void* stack) { free_.push_back(stack); }

void StackPool::map_more() {
  constexpr int kBatch = 64;
  const size_t page = page_bytes();
  const size_t stride = kStackBytes + page;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* base = mmap(nullptr, kBatch * stride, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (base == MAP_FAILED) throw Error(Error::Kind::runtime, "emulator: no memory for fiber stacks; use a smaller sm_count");
  for (int i = 0; i < kBatch; ++i) {
    unsigned char* guard = static_cast<unsigned char*>(base) + i * stride;
    if (mprotect(guard, page, PROT_NONE) != 0)
      throw Error(Error::Kind::runtime, "emulator: too many fiber stacks for this system; use a smaller sm_count");
    free_.push_back(guard + page);
  }
}

}  // namespace hopper_gemm::emulator
