// The contract compiled for the emulator (HG_EMULATE).
#include "contract.h"

void (*contract_emu())(const hopper_gemm::GemmParams&) { return &hopper_gemm::contract::every_instruction<128>; }
