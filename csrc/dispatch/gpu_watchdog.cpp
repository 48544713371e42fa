// Build option HG_WATCHDOG: one host-mapped word that a wait of more than 2 s writes before it kills its grid (arch/ptx/barrier.h).
// Pinned host memory outlives the context that the fault destroys, so it can be read after the failed synchronisation.
#include "runtime.h"

#include <mutex>

#include "cuda_check.h"
#include "gpu.h"

namespace hopper_gemm {
namespace {

using Word = unsigned long long;
volatile Word* the_word = nullptr;

}  // namespace

namespace gpu {

void arm_watchdog(int device) {
  const WatchdogTable table = watchdog_table();
  if (table.count == 0) return;
  static std::mutex mutex;
  static bool told[64] = {};
  const std::lock_guard lock(mutex);
  if (the_word == nullptr) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(Word), cudaHostAllocPortable | cudaHostAllocMapped),
          "allocating the watchdog's word");
    the_word = static_cast<Word*>(memory);
    *the_word = 0;
  }
  auto* word = const_cast<Word*>(the_word);  // unified addressing: the same address on the device
  if (!told[device]) {
    for (int i = 0; i < table.count; ++i)
      check(static_cast<cudaError_t>(table.setters[i](word)), "telling kernels where the watchdog's word is");
    told[device] = true;
  }
}

}  // namespace gpu

std::string watchdog_report() {
  const Word word = the_word == nullptr ? 0 : *the_word;
  if (word == 0) return "";
  constexpr const char* waits[] = {"full", "empty", "order_mainloop", "order_epilogue"};
  const unsigned thread = word >> 16 & 0xFFFF, wait = word >> 12 & 0xF;
  return text("CTA ", word >> 32 & 0x7FFFFFFF, ", thread ", thread, " (warpgroup ", thread / 128, ", warp ", thread / 32,
              ") waited over 2 s for ", wait < 4 ? waits[wait] : "an unknown barrier", " of stage ", word & 0xFF,
              ", parity ", word >> 8 & 0xF);
}

}  // namespace hopper_gemm
