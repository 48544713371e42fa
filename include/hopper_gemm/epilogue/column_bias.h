// A bias for the columns, where it is all that is done to the sums: added to the accumulators in place, after which they are
// stored as those of a plain product. About 200 instructions a tile; the parts of store_parts.h take as many for each.
#pragma once
#include "hopper_gemm/kernel/context.h"
#include "hopper_gemm/mainloop/accumulator.h"

namespace hopper_gemm {

template <class K>
struct ColumnBias {
  static constexpr KernelConfig c = K::config;
  static constexpr bool kPossible =
      c.takes_options() && c.store == Store::tma && c.is_row_major() && c.accumulator == DataType::f32;
  static constexpr int kAtOnce = 8;  // groups of 8 columns whose loads are in flight together

  const Context<K>& context;
  int batch;

  // Columns n_begin ... of the output.
  HG_DEVICE void add_to(Accumulator<K>& acc, int n_begin) const {
    const Addend& bias = context.params.epilogue.addend[0];
    const int column = n_begin + static_cast<int>(context.lane % 4 * 2), n = context.params.n;
    const uint16_t* from = static_cast<const uint16_t*>(bias.data) + batch * bias.batch_stride + column;
    auto& sums = acc.sums();
    HG_UNROLL for (int first = 0; first < c.tile_n / 8; first += kAtOnce) {
      uint32_t both[kAtOnce];
      HG_UNROLL for (int i = 0; i < kAtOnce && first + i < c.tile_n / 8; ++i) {
        const int at = (first + i) * 8;
        both[i] = arch::load_global_if(reinterpret_cast<const uint32_t*>(from + at), column + at < n);
      }
      HG_UNROLL for (int i = 0; i < kAtOnce && first + i < c.tile_n / 8; ++i) {
        const bool is_bf16 = bias.type == DataType::bf16;
        const float low = is_bf16 ? arch::bf16_low(both[i]) : arch::f16_low(both[i]);
        const float high = is_bf16 ? arch::bf16_high(both[i]) : arch::f16_high(both[i]);
        HG_UNROLL for (int block = 0; block < c.mma_blocks(); ++block) {
          HG_UNROLL for (int half = 0; half < 2; ++half) {
            sums[block][4 * (first + i) + 2 * half] += low;
            sums[block][4 * (first + i) + 2 * half + 1] += high;
          }
        }
      }
    }
  }
};

}  // namespace hopper_gemm
