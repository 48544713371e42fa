// The packing kernel: copies a matrix of any strides and any alignment to where the GEMM kernels can read it (rows of whole
// 16-byte pieces, padding zeroed), or an aligned result to an `out` of any strides. One launch may pack both operands.
//
//   copy     lanes run along the columns. Contiguous source rows off a 16-byte boundary are read in aligned words of 16
//            bytes and shifted; at the ends of a row, and for any other stride, element by element.
//   staged   source and target are contiguous in different dimensions: lanes run along the rows on one side and along
//            the columns on the other, with the tile in shared memory between them.
//
// Nothing outside the operand is read: words across the end of a row are read by elements, but for copies of adjacent rows
// (PackJob::across; staged ones took 1-10% longer so: benchmarks/results/pack_words.json). Every path moves bits only, but for
// float32 operands that are split in two tf32 parts (PackSplit).
#pragma once
#include <bit>

#include "hopper_gemm/arch/isa.h"
#include "hopper_gemm/core/pack_params.h"

namespace hopper_gemm {

template <int kBytes>
struct PackElement;
template <>
struct PackElement<1> {
  using type = uint8_t;
};
template <>
struct PackElement<2> {
  using type = uint16_t;
};
template <>
struct PackElement<4> {
  using type = uint32_t;
};

struct PackShared {
  alignas(1024) arch::Piece piece[kTilePieces];
};

// A piece of a tile: its row, and its place among the row's pieces.
struct PackPlace {
  int row, piece;
};

// What the loads of a piece bring: it begins some bytes into two adjacent words. kCut: and what follows its own bytes is cut.
template <bool kCut>
struct Fetched {
  arch::Piece low, high;
  uint32_t misfit;  // kCut: and the piece's bytes from the fifth bit on; together, for they take a register

  HG_DEVICE arch::Piece piece() const {
    uint32_t w[8];
    HG_UNROLL for (int i = 0; i < 4; ++i)
      w[i] = low.word[i], w[4 + i] = high.word[i];
    HG_UNROLL for (int i = 0; i < 6; ++i)
      w[i] = misfit & 8 ? w[i + 2] : w[i];
    HG_UNROLL for (int i = 0; i < 5; ++i)
      w[i] = misfit & 4 ? w[i + 1] : w[i];
    arch::Piece piece;
    HG_UNROLL for (int i = 0; i < 4; ++i)
      piece.word[i] = static_cast<uint32_t>((static_cast<uint64_t>(w[i + 1]) << 32 | w[i]) >> (misfit % 4 * 8)) & kept(i);
    return piece;
  }

  HG_DEVICE uint32_t kept(int word) const {
    if constexpr (!kCut) return ~0u;
    const int left = static_cast<int>(misfit >> 4) - 4 * word;
    return left >= 4 ? ~0u : left <= 0 ? 0u : ~(~0u << 8 * left);
  }
};

// Four floats as sums of two tf32 numbers. `factor` is the part that multiplies the other operand's low one: high, but 0
// where x is no number or infinite, which high * high says already (infinity * 0 would not).
struct SplitPiece {
  arch::Piece high, low, factor;

  HG_DEVICE static SplitPiece of(const arch::Piece& piece) {
    constexpr uint32_t exponent = 0x7F800000u, dropped = 0x1FFFu;
    SplitPiece split;
    HG_UNROLL for (int i = 0; i < 4; ++i) {
      const uint32_t x = piece.word[i];
      const bool finite = (x & exponent) != exponent;
      uint32_t high = (x + 0xFFFu + (x >> 13 & 1u)) & ~dropped;  // to nearest even, but not to infinity
      if ((high & exponent) == exponent) high = x & ~dropped;
      split.high.word[i] = finite ? high : x;
      split.factor.word[i] = finite ? high : 0;
      split.low.word[i] = finite ? std::bit_cast<uint32_t>(std::bit_cast<float>(x) - std::bit_cast<float>(high)) : 0;
    }
    return split;
  }
};

template <int kBytes>
struct Packer {
  using Element = typename PackElement<kBytes>::type;
  static constexpr int kColumns = kPieceBytes / kBytes;  // of a piece

  const PackJob& job;
  const Element* source;  // of this batch
  Element* target;
  int64_t first_row, first_column;  // of the tile

  HG_DEVICE static Packer make(const PackJob& job, int index) {
    const PackTile tile = pack_tile(job.pieces_log2);
    const int column_tile = index % job.column_tiles;
    index /= job.column_tiles;
    Packer packer = {job, static_cast<const Element*>(job.source), static_cast<Element*>(job.target),
                     static_cast<int64_t>(index % job.row_tiles) * tile.rows,
                     static_cast<int64_t>(column_tile) * tile.pieces * kColumns};
    index /= job.row_tiles;
    if (index == 0) return packer;  // of one matrix: eight divisions less
    HG_UNROLL for (int dim = kPackBatchDims - 1; dim >= 0; --dim) {
      const int64_t at = index % job.batches[dim];
      index /= job.batches[dim];
      packer.source += at * job.from.batch_stride[dim];
      packer.target += at * job.to.batch_stride[dim];
    }
    return packer;
  }

  // Starts the loads of a piece; nothing waits for them here, so that those of the next piece can follow. kAcross: the rows are
  // adjacent, and words may reach into those before and behind.
  template <bool kAcross>
  HG_DEVICE Fetched<kAcross> fetch(PackPlace place) const {
    const int64_t row = first_row + place.row, column = first_column + place.piece * kColumns;
    Fetched<kAcross> fetched = {.misfit = kAcross ? kPieceBytes << 4 : 0};
    if (row >= job.rows || column >= job.columns) return fetched;
    const Element* begin = source + row * job.from.row_stride;
    const Element* from = begin + column * job.from.column_stride;
    const uint32_t misfit = reinterpret_cast<uintptr_t>(from) % kPieceBytes;
    const Element* aligned = from - misfit / kBytes;
    const Element* end = aligned + (misfit == 0 ? 1 : 2) * kColumns;
    const Element* first = kAcross ? source : begin;
    const Element* last = kAcross ? source + job.rows * job.columns : begin + job.columns;
    if (job.from.column_stride == 1 && aligned >= first && end <= last) {
      const auto* words = reinterpret_cast<const arch::Piece*>(aligned);
      fetched.low = arch::load_global(words);
      if (misfit != 0) fetched.high = arch::load_global(words + 1);
      fetched.misfit = misfit;
      if constexpr (kAcross) {
        const int left = column + kColumns <= job.columns ? kColumns : static_cast<int>(job.columns - column);
        fetched.misfit |= left * kBytes << 4;
      }
      return fetched;
    }
    Element elements[kColumns];
    HG_UNROLL for (int i = 0; i < kColumns; ++i)
      elements[i] = column + i < job.columns ? arch::load_global(from + i * job.from.column_stride) : Element{0};
    HG_UNROLL for (int i = 0; i < kColumns; ++i)
      fetched.low.word[i * kBytes / 4] |= static_cast<uint32_t>(elements[i]) << (i * kBytes % 4 * 8);
    return fetched;
  }

  HG_DEVICE void store(PackPlace place, const arch::Piece& piece) const {
    if constexpr (kBytes == 4) {
      if (job.split != PackSplit::none) {
        const SplitPiece split = SplitPiece::of(piece);
        const bool left = job.split == PackSplit::left;
        store_segment(place, left ? split.low : split.factor, 0);
        store_segment(place, left ? split.factor : split.low, 1);
        store_segment(place, split.high, 2);
        return;
      }
    }
    store_segment(place, piece, 0);
  }

  HG_DEVICE void store_segment(PackPlace place, const arch::Piece& piece, int segment) const {
    const int64_t row = first_row + place.row, column = first_column + place.piece * kColumns;
    if (row >= job.rows || column >= job.padded_columns) return;
    Element* to = target + row * job.to.row_stride + (segment * job.padded_columns + column) * job.to.column_stride;
    const bool whole = job.to.column_stride == 1 && column + kColumns <= job.padded_columns;
    if (whole && reinterpret_cast<uintptr_t>(to) % kPieceBytes == 0) {
      arch::store_global(reinterpret_cast<arch::Piece*>(to), piece);
      return;
    }
    HG_UNROLL for (int i = 0; i < kColumns; ++i) {
      if (column + i < job.padded_columns)
        arch::store_global(to + i * job.to.column_stride,
                           static_cast<Element>(piece.word[i * kBytes / 4] >> (i * kBytes % 4 * 8)));
    }
  }

  // The index-th piece of a tile, counted along the rows or along the columns.
  template <bool kStaged>
  HG_DEVICE PackPlace place(int index, bool along_rows) const {
    if (kStaged && along_rows) return {index % kStagedTile.rows, index / kStagedTile.rows};
    const int pieces_log2 = kStaged ? kStagedPiecesLog2 : job.pieces_log2;
    return {index >> pieces_log2, index & ((1 << pieces_log2) - 1)};
  }
  // Where a staged piece lies: 8 lanes along either dimension meet all 32 banks.
  HG_DEVICE static int slot(PackPlace place) { return place.row * kStagedTile.pieces + (place.piece ^ place.row % 8); }

  template <bool kStaged, bool kAcross>
  HG_DEVICE void run() const {
    constexpr int each = kTilePieces / kPackThreads;
    const int thread = static_cast<int>(arch::thread_index());
    Fetched<kAcross> fetched[each];
    arch::Piece pieces[each];
    HG_UNROLL for (int i = 0; i < each; ++i)
      fetched[i] = fetch<kAcross>(place<kStaged>(i * kPackThreads + thread, job.gathers));
    HG_UNROLL for (int i = 0; i < each; ++i)
      pieces[i] = fetched[i].piece();
    if constexpr (kStaged) {
      PackShared& shared = arch::dynamic_shared<PackShared>();
      HG_UNROLL for (int i = 0; i < each; ++i)
        arch::shared_store(shared.piece[slot(place<true>(i * kPackThreads + thread, job.gathers))], pieces[i]);
      arch::cta_sync();
      HG_UNROLL for (int i = 0; i < each; ++i)
        pieces[i] = arch::shared_load(shared.piece[slot(place<true>(i * kPackThreads + thread, !job.gathers))]);
    }
    HG_UNROLL for (int i = 0; i < each; ++i)
      store(place<kStaged>(i * kPackThreads + thread, !job.gathers), pieces[i]);
  }
};

template <int kBytes>
HG_KERNEL_RESIDENT(kPackThreads, 5)
pack_kernel(HG_PARAM(PackParams) params) {
  const int block = static_cast<int>(arch::block_index()), of_first = params.jobs[0].tiles;
  const bool first = block < of_first;
  const PackJob& job = params.jobs[first ? 0 : 1];
  const auto packer = Packer<kBytes>::make(job, first ? block : block - of_first);
  arch::wait_for_previous_grid();  // nothing above touches global memory
  if (job.staged) {
    packer.template run<true, false>();
  } else if (job.across) {
    packer.template run<false, true>();
  } else {
    packer.template run<false, false>();
  }
  arch::allow_next_grid();
}

}  // namespace hopper_gemm
