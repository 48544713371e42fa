// A saved execution context (fiber) and the switch between two of them.
// x86-64 has a short assembly switch (about 25 ns); other machines use swapcontext (20 times slower).
#pragma once
#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace hopper_gemm::emulator {

struct Context {
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t state{};
#endif
  const void* stack = nullptr;  // lowest address; null for the host's own stack
  size_t stack_bytes = 0;
};

// Makes `context` start in `entry` on the given stack. `entry` must not return.
void prepare_context(Context& context, void* stack, size_t stack_bytes, void (*entry)());

// Saves the running context in `from` and continues `to`. `last`: `from` will never be continued.
void switch_context(Context& from, Context& to, bool last = false);

// The first thing `entry` calls (tells AddressSanitizer that the switch is over).
void finish_first_switch(Context& from);

}  // namespace hopper_gemm::emulator
