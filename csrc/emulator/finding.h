// The kinds of findings. A finding is "kind: sentence"; tests and the must-fail table go by the kind.
#pragma once

namespace hopper_gemm::emulator {

enum class Finding : int {
  deadlock,          // nothing can run and nothing is in flight
  over_arrival,      // more arrivals than the phase expects
  tx_bytes,          // announced and delivered transaction bytes differ
  visibility,        // a barrier used before its initialisation is visible to the user
  bad_barrier,       // no barrier at this address, or impossible arguments
  phase,             // a waiter two phases behind
  overwrite,         // bytes written that something still reads, or may: no wait orders the two
  early_read,        // bytes read that are in flight, or may be: no wait orders the two
  unwritten_read,    // bytes read that nothing has written
  wrong_coordinate,  // bytes read that were written for another element (swizzle, descriptor, box coordinates)
  proxy_fence,       // ordinary write, then asynchronous access, no async_proxy_fence between
  wgmma_fence,       // missing before a wgmma
  accumulator,       // touched between a wgmma and the wait that covers it
  accumulation,      // a sum that skips, repeats or mixes parts of K
  diverged,          // lanes of a warp, or warps of a warpgroup, execute different operations
  named_barrier,     // thread counts that differ, or parts of warps
  registers,         // setmaxnreg the wrong way round
  alignment,         // an address the hardware would refuse or scramble
  out_of_bounds,     // beyond shared memory, the cluster or the output
  store_clip,        // a TMA store that writes beyond its tensor, up to whole 16 bytes
  exit,              // a thread or CTA leaves what others, or its own transfers, still need
  grid_order,        // global memory touched before the grid before this one has been waited for
  bank_conflict,     // stmatrix rows that share banks
};

constexpr const char* name_of(Finding kind) {
  constexpr const char* kNames[] = {"deadlock",      "over-arrival", "tx-bytes",     "visibility",     "bad-barrier",
                                    "phase",         "overwrite",    "early-read",   "unwritten-read", "wrong-coordinate",
                                    "proxy-fence",   "wgmma-fence",  "accumulator",  "accumulation",   "diverged",
                                    "named-barrier", "registers",    "alignment",    "out-of-bounds",  "store-clip",
                                    "exit",          "grid-order",   "bank-conflict"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace hopper_gemm::emulator
