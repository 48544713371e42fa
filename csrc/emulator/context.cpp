// The context switch. Callee-saved registers go on the old stack, the stack pointer changes, they come off the new one.
#include "context.h"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* size);
extern "C" void __asan_unpoison_memory_region(const volatile void* address, size_t size);
#endif

#if defined(__x86_64__)
// void hopper_gemm_switch(void** save, void* load)
asm(R"(
.text
.p2align 4
.type hopper_gemm_switch, @function
hopper_gemm_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hopper_gemm_switch, .-hopper_gemm_switch
)");
extern "C" __attribute__((visibility("hidden"))) void hopper_gemm_switch(void** save, void* load);
#endif

namespace hopper_gemm::emulator {

void prepare_context(Context& context, void* stack, size_t stack_bytes, void (*entry)()) {
  context.stack = stack;
  context.stack_bytes = stack_bytes;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, stack_bytes);  // frames of the fiber that used it before were never left
#endif
#if defined(__x86_64__)
  // Six zero registers, then the address `ret` takes; the word above keeps rsp = 8 mod 16 at the entry, as after a call.
  const uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + stack_bytes) & ~uintptr_t{15};
  void** words = reinterpret_cast<void**>(top) - 8;
  for (int i = 0; i < 8; ++i) words[i] = nullptr;
  words[6] = reinterpret_cast<void*>(entry);
  context.stack_pointer = words;
#else
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = stack_bytes;
  context.state.uc_link = nullptr;
  makecontext(&context.state, entry, 0);
#endif
}

void switch_context(Context& from, Context& to, [[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack, to.stack, to.stack_bytes);
#endif
#if defined(__x86_64__)
  hopper_gemm_switch(&from.stack_pointer, to.stack_pointer);
#else
  swapcontext(&from.state, &to.state);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void finish_first_switch([[maybe_unused]] Context& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &from.stack, &from.stack_bytes);
#endif
}

}  // namespace hopper_gemm::emulator
