// torch 2.11 and later: Stream::native_handle through the device interface. torch 2.10 has no such member; there the
// C interface of libtorch_cuda is looked up at run time, because a CPU build of torch does not have it.
#include "stream.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include "hopper_gemm.h"

namespace hopper_gemm {
namespace {

template <class Stream>
void* handle_of(const Stream& stream) {
  if constexpr (requires { stream.native_handle(); }) {
    return stream.native_handle();
  } else {
    using Lookup = int (*)(int, void**);
    static const auto lookup = [] {
      void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);  // torch has it loaded, in a scope of its own
      return library == nullptr ? nullptr : reinterpret_cast<Lookup>(dlsym(library, "aoti_torch_get_current_cuda_stream"));
    }();
    void* handle = nullptr;
    if (lookup == nullptr || lookup(stream.device_index(), &handle) != 0)
      throw Error(Error::Kind::runtime, "torch does not tell its current CUDA stream: torch 2.11 or later does");
    return handle;
  }
}

}  // namespace

void* current_stream(c10::Device device) { return handle_of(c10::impl::VirtualGuardImpl(device.type()).getStream(device)); }

}  // namespace hopper_gemm
