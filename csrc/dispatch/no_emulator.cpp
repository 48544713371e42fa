// The build with HG_EMULATOR=OFF. Linked instead of csrc/emulator.
#include "../emulator/emulator.h"
#include "pack.h"
#include "split_k.h"

namespace hopper_gemm::emulator {
namespace {

[[noreturn]] void refuse() {
  throw Error(Error::Kind::runtime, "this build has no emulator: build again with -DHG_EMULATOR=ON");
}

}  // namespace

TensorMap encode_tensor_map(const TensorMapSpec&) { refuse(); }
EmulatorReport run(const Launch&, const GemmParams&, const EmulatorOptions&) { refuse(); }
Footprint::Footprint(std::string, const void*, int, const std::vector<Dimension>&) { refuse(); }

}  // namespace hopper_gemm::emulator

namespace hopper_gemm::emulated {
PackFunction pack_function(int) { emulator::refuse(); }
EmulatedFunction add_slices_function(OutputOrder, int) { return nullptr; }
}  // namespace hopper_gemm::emulated
