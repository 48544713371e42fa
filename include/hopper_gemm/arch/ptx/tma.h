// Bulk tensor copies (PTX ISA: cp.async.bulk.tensor). Maps are 3-D, with one matrix of a batch in each box; coordinates in
// elements, innermost first, then the matrix.
#pragma once
#include "hopper_gemm/arch/ptx/barrier.h"
#include "hopper_gemm/core/params.h"

namespace hopper_gemm::arch {

// How long L2 keeps what a load brings (PTX ISA: createpolicy, .level::cache_hint): as long as anything, or until it needs
// the room. Changes no value.
struct CachePolicy {
  uint64_t bits;
};
HG_DEVICE CachePolicy cache_policy(bool evict_first) {
  CachePolicy normal, first;
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(normal.bits));
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first.bits));
  return evict_first ? first : normal;
}

HG_DEVICE void tma_prefetch(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

// Loads one box to `destination`; elements outside the tensor become zero. Completes the box's full bytes on `barrier`.
HG_DEVICE void tma_load(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1, int c2 = 0) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared_address(destination)),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(&barrier))
      : "memory");
}

HG_DEVICE void tma_load(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1, int c2,
                        CachePolicy policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(destination)),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(&barrier)), "l"(policy.bits)
      : "memory");
}

// The same into every CTA of `cta_mask`, at the same shared-memory offsets of data and barrier.
HG_DEVICE void tma_load_multicast(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1,
                                  uint16_t cta_mask, int c2 = 0) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(destination)),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(&barrier)), "h"(cta_mask)
      : "memory");
}

HG_DEVICE void tma_load_multicast(void* destination, const TensorMap& map, Barrier& barrier, int c0, int c1,
                                  uint16_t cta_mask, int c2, CachePolicy policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
      " [%0], [%1, {%2, %3, %4}], [%5], %6, %7;" ::"r"(shared_address(destination)),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(shared_address(&barrier)), "h"(cta_mask), "l"(policy.bits)
      : "memory");
}

// Stores one box from `source`; elements outside the tensor are dropped. Groups belong to the issuing thread.
HG_DEVICE void tma_store(const TensorMap& map, const void* source, int c0, int c1, int c2 = 0) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map), "r"(c0),
               "r"(c1), "r"(c2), "r"(shared_address(source))
               : "memory");
}
HG_DEVICE void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most kGroups of this thread's groups still have to read shared memory.
template <int kGroups>
HG_DEVICE void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kGroups) : "memory");
}

}  // namespace hopper_gemm::arch
