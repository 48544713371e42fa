// A panel in shared memory -> global memory, for 16-bit outputs that a TMA store cannot take (rows that are not whole 16 bytes:
// an odd N, a slice). A warp writes rows, in words that begin where memory has one, which may be between two words of the
// panel; stores from registers (store_direct.h) touch eight rows at once and write four times as many sectors.
#pragma once
#include "hopper_gemm/core/swizzle.h"
#include "hopper_gemm/kernel/context.h"

namespace hopper_gemm {

template <class K>
struct RowStore {
  static constexpr KernelConfig c = K::config;
  static constexpr int kRows = c.panel_rows(), kColumns = c.panel_columns();  // of the output as it is stored
  static constexpr int kLanes = kColumns / 2;                                 // that write a row
  static constexpr int kRowsAtOnce = kWarpgroupThreads / kLanes;
  static constexpr int kBatch = kRows / kRowsAtOnce < 4 ? kRows / kRowsAtOnce : 4;  // rows of a thread loaded together
  static_assert(kRowsAtOnce % 2 == 0 && kRows % (kBatch * kRowsAtOnce) == 0);

  const Context<K>& context;
  int batch;

  // The panel of the part of a tile that begins at `row` and `column`; the warpgroup has written it.
  HG_DEVICE void store(const unsigned char* panel, int row, int column) const {
    const GemmParams& params = context.params;
    c.is_row_major() ? copy(panel, row, column, params.m, params.n) : copy(panel, column, row, params.n, params.m);
  }

 private:
  HG_DEVICE void copy(const unsigned char* panel, int row, int column, int rows, int columns) const {
    const int thread = static_cast<int>(arch::opaque(context.warp * 32 + context.lane));  // here alone, as in store_parts.h
    const int lane = thread % kLanes, first = thread / kLanes;
    const int width = columns - column < kColumns ? columns - column : kColumns;
    const int64_t pitch = context.params.out_pitch;
    uint16_t* out = static_cast<uint16_t*>(context.params.out) + batch * context.params.out_batch;
    out += (row + first) * pitch + column;
    // Words begin at the first or the second element of a row, of all rows of a thread alike: they are an even number apart.
    const int odd = reinterpret_cast<uintptr_t>(out) % 4 != 0, at = 2 * lane + odd;
    if (at + 1 < width) {
      const auto load = [&](int i) { return element(panel, i, at) | element(panel, i, at + 1) << 16; };
      each_row(reinterpret_cast<uint32_t*>(out + at), first, rows - row, load);
    }
    // What lies before the first word and behind the last one, if anything does.
    const int single = lane == 0 ? 0 : width - 1;
    if (width > 0 && (lane == 0 ? odd : lane == 1 && (width - odd) % 2 != 0)) {
      const auto load = [&](int i) { return static_cast<uint16_t>(element(panel, i, single)); };
      each_row(out + single, first, rows - row, load);
    }
  }

  // Writes load(i) of every row of a thread, row `first` at `to`; the loads of kBatch rows are in flight together.
  template <class Word, class Load>
  HG_DEVICE void each_row(Word* to, int first, int rows, Load load) const {
    const int64_t step = context.params.out_pitch * kRowsAtOnce * 2 / static_cast<int>(sizeof(Word));
    HG_NO_UNROLL for (int i = first; i < kRows && i < rows; i += kBatch * kRowsAtOnce) {
      Word words[kBatch];
      HG_UNROLL for (int j = 0; j < kBatch; ++j)
        words[j] = load(i + j * kRowsAtOnce);
      HG_UNROLL for (int j = 0; j < kBatch; ++j) {
        if (i + j * kRowsAtOnce < rows) arch::store_global(to, words[j]);
        to += step;
      }
    }
  }

  HG_DEVICE static uint32_t element(const unsigned char* panel, int row, int column) {
    const uint32_t place = swizzled(c.panel_swizzle(), static_cast<uint32_t>(row * kColumns + column) * 2);
    return arch::shared_load(*reinterpret_cast<const uint16_t*>(panel + place));
  }
};

}  // namespace hopper_gemm
