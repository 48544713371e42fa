// Shapes and strides -> Product.
#include "product.h"

#include <utility>
#include <vector>

#include "text.h"

namespace hopper_gemm {
namespace {

// A tensor's batch dimensions, outermost first, and its last two.
struct View {
  std::vector<int64_t> sizes, strides;
  int64_t rows, columns;
  Matrices matrices;
};

// `row` / `column`: the tensor lacks that dimension (it is, or belongs to, a 1-D operand).
View view_of(const at::Tensor& t, bool row_missing, bool column_missing) {
  int64_t dims = t.dim();
  View view = {};
  view.columns = column_missing ? 1 : t.size(dims - 1);
  view.matrices.column_stride = column_missing ? 1 : t.stride(dims - 1);
  if (!column_missing) --dims;
  view.rows = row_missing ? 1 : t.size(dims - 1);
  view.matrices.row_stride = row_missing ? 1 : t.stride(dims - 1);
  if (!row_missing) --dims;
  view.sizes = t.sizes().slice(0, dims).vec();
  view.strides = t.strides().slice(0, dims).vec();
  return view;
}

// Repeats dimensions of size 1 with stride 0 until the batch is `sizes`. False if it cannot become that.
bool broadcast(View& view, const std::vector<int64_t>& sizes) {
  if (view.sizes.size() > sizes.size()) return false;
  const size_t added = sizes.size() - view.sizes.size();
  view.sizes.insert(view.sizes.begin(), added, 1);
  view.strides.insert(view.strides.begin(), added, 0);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (view.sizes[d] != sizes[d] && view.sizes[d] != 1) return false;
    if (view.sizes[d] == 1) view.strides[d] = 0;
    view.sizes[d] = sizes[d];
  }
  return true;
}

// One stride for all dimensions, if there is one.
std::pair<bool, int64_t> collapsed(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  bool regular = true;
  int64_t stride = 0, next = -1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (next < 0) {
      stride = strides[d];
    } else if (strides[d] != next) {
      regular = false;
    }
    next = strides[d] * sizes[d];
  }
  return {regular, stride};
}

void collapse(View& view) {
  const auto [regular, stride] = collapsed(view.sizes, view.strides);
  const bool holds_nothing = view.rows == 0 || view.columns == 0;  // an operand with K = 0: wherever its matrices would lie
  view.matrices.regular = regular || holds_nothing;
  view.matrices.batch_stride = holds_nothing ? 0 : stride;
}

// The batch and the rows as one dimension.
bool fold(View& view) {
  std::vector<int64_t> sizes = view.sizes, strides = view.strides;
  sizes.push_back(view.rows);
  strides.push_back(view.matrices.row_stride);
  const auto [regular, stride] = collapsed(sizes, strides);
  if (!regular) return false;
  view.matrices = {0, stride, view.matrices.column_stride, true};
  return true;
}

std::string shape_text(const at::Tensor& t) { return text(t.sizes(), " with strides ", t.strides()); }

}  // namespace

Product Product::exchanged() const {
  const auto transposed = [](Matrices m) {
    std::swap(m.row_stride, m.column_stride);
    return m;
  };
  std::vector<Matrices> exchanged_addends;
  for (const Matrices& addend : addends) exchanged_addends.push_back(transposed(addend));
  return {batches, n, m, k, transposed(b), transposed(a), transposed(out), folded, exchanged_addends};
}

Product product_of(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out, const std::vector<at::Tensor>& addends) {
  const auto refuse = [&] {
    throw Error(Error::Kind::value,
                text("shapes do not fit out = a @ b: a ", shape_text(a), ", b ", shape_text(b), ", out ", shape_text(out)));
  };
  if (a.dim() == 0 || b.dim() == 0) refuse();
  const bool a_vector = a.dim() == 1, b_vector = b.dim() == 1;
  if (out.dim() < (a_vector ? 0 : 1) + (b_vector ? 0 : 1)) refuse();
  View views[] = {view_of(a, a_vector, false), view_of(b, false, b_vector), view_of(out, a_vector, b_vector)};
  auto& [va, vb, vout] = views;
  if (va.columns != vb.rows || vout.rows != va.rows || vout.columns != vb.columns) refuse();
  // An operand repeated along a dimension may come with size 1 there, also if it is so in both (packing.py).
  const std::vector<int64_t> sizes = vout.sizes;
  if (!broadcast(va, sizes) || !broadcast(vb, sizes)) refuse();
  Product product = {1, va.rows, vb.columns, va.columns, {}, {}, {}, false, {}};
  for (const int64_t size : sizes) product.batches *= size;
  for (View& view : views) collapse(view);
  std::vector<View> added;
  for (const at::Tensor& addend : addends) {
    added.push_back(view_of(addend, a_vector, b_vector));
    collapse(added.back());
  }
  const bool b_shared = vb.matrices.regular && vb.matrices.batch_stride == 0;
  if (product.batches > 1 && b_shared) {
    View rows_a = va, rows_out = vout;
    std::vector<View> rows_added = added;
    // One and the same row again and again is no matrix with a pitch: it stays a batch.
    if (fold(rows_a) && fold(rows_out) && rows_a.matrices.row_stride != 0 &&
        std::all_of(rows_added.begin(), rows_added.end(), fold)) {
      va = rows_a, vout = rows_out, added = rows_added;
      product.m *= product.batches;
      product.batches = 1;
      product.folded = true;
    }
  }
  product.a = va.matrices;
  product.b = vb.matrices;
  product.out = vout.matrices;
  for (const View& view : added) product.addends.push_back(view.matrices);
  return product;
}

}  // namespace hopper_gemm
