// What the torch extension and the tools need of the library beyond hopper_gemm.h.
#pragma once
#include <string>

namespace hopper_gemm {

// Build option HG_WATCHDOG: what a wait of more than 2 s reported before it killed its kernel, "" if nothing was.
// Ask after a failed stream synchronisation; the word survives the dead context.
std::string watchdog_report();

// Version of the CUDA runtime the kernels were built with ("13.0"), "" for an emulator-only build.
std::string cuda_version();

// Hash of include/, csrc/ and the manifest at build time (tools/sources_hash.py).
std::string sources_sha();

// Makes a device current in this library's own copy of the CUDA runtime; torch's copy does not tell ours.
void use_device(int device);

}  // namespace hopper_gemm
