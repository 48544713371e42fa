// The contract compiled for the GPU.
#include "contract.h"

void* contract_ptx() { return reinterpret_cast<void*>(&hopper_gemm::contract::every_instruction<128>); }
