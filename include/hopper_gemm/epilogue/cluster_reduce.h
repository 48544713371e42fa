// Split-K inside a cluster: the CTAs of a tile each sum a part of K, put their accumulators into shared memory, and each
// then adds up its share of the columns over all of them through distributed shared memory. The order of the sum is the
// rank order, so the result is the same every time; nobody waits outside the cluster.
//
//   every consumer:  publish()                    accumulators -> own shared memory
//   every thread:    cluster barrier
//   every consumer:  reduce_and_store()           8-column groups g with g % cluster_k == own k, summed in rank order
//   every thread:    cluster barrier              (leave_cluster) nobody exits while peers still read its partial sums
#pragma once
#include "hopper_gemm/epilogue/operations.h"
#include "hopper_gemm/epilogue/store_direct.h"

namespace hopper_gemm {

template <class K>
struct ClusterReduce {
  static constexpr KernelConfig c = K::config;
  static constexpr int kGroups = c.tile_n / 8;

  const Context<K>& context;

  HG_DEVICE uint32_t thread() const { return context.warpgroup * kWarpgroupThreads + context.warp * 32 + context.lane; }

  // `any` is false if this CTA's share of K is empty: its accumulators were never written.
  HG_DEVICE void publish(const Accumulator<K>& acc, bool any) const {
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
      HG_UNROLL for (int group = 0; group < kGroups; ++group) {
        const Pair upper = acc.pair(block, group, 0), lower = acc.pair(block, group, 1);
        const arch::Float4 values = {upper.low, upper.high, lower.low, lower.high};
        arch::shared_store(context.shared.epilogue.sum[block * kGroups + group][thread()], any ? values : arch::Float4{});
      }
    }
  }

  HG_DEVICE void reduce_and_store(int m_begin, int n_begin, int batch) const {
    const DirectStore<K> direct{context, batch};
    const auto operations = Operations<K>::make(context, batch);
    HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
      for (int group = static_cast<int>(context.place.k); group < kGroups; group += c.cluster_k) {
        Fragment<1> total = sum(context.shared.epilogue.sum[block * kGroups + group][thread()]);
        const int row = m_begin + block * kMmaM, column = n_begin + group * 8;
        if constexpr (c.takes_options()) {
          if (!context.params.epilogue.plain) operations.apply(total, row, column);
        }
        direct.store(total, row, column);
      }
    }
  }

 private:
  HG_DEVICE static Fragment<1> sum(const arch::Float4& own) {
    Fragment<1> total = {};
    HG_UNROLL for (int rank = 0; rank < c.cluster_k; ++rank) {
      const arch::Float4 part = arch::cluster_load(own, rank);
      total.pairs[0][0].low += part.x;
      total.pairs[0][0].high += part.y;
      total.pairs[0][1].low += part.z;
      total.pairs[0][1].high += part.w;
    }
    return total;
  }
};

}  // namespace hopper_gemm
