// The build with HG_EMULATOR=OFF. Linked instead of csrc/emulator.
#include "../emulator/emulator.h"

namespace hopper_gemm::emulator {
namespace {

[[noreturn]] void refuse() {
  throw Error(Error::Kind::runtime, "this build has no emulator: build again with -DHG_EMULATOR=ON");
}

}  // namespace

TensorMap encode_tensor_map(const TensorMapSpec&) { refuse(); }
EmulatorReport run(const Launch&, const GemmParams&, const EmulatorOptions&) { refuse(); }

}  // namespace hopper_gemm::emulator
