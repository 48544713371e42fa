// What the epilogue reads from global memory: elements of its addends and scales, and nothing else. Where an addend is the
// output itself, an element has to be read before it is written, by the warpgroup that writes it: nothing orders a read
// and a write of two warpgroups, nor a read after the issue of the write.
#include "epilogue_memory.h"

#include "machine.h"

namespace hopper_gemm::emulator {

namespace {

std::string describe(const EpilogueMemory::Side& side) {
  return "CTA " + std::to_string(side.block) + " warpgroup " + std::to_string(side.warpgroup) + " at " + place(side.line);
}

EpilogueMemory::Side running(Line line) { return {self().cta->block, self().warpgroup->index, line}; }

}  // namespace

EpilogueMemory::EpilogueMemory(const GemmParams& params, int64_t stored_rows, int64_t stored_columns) {
  const EpilogueParams& e = params.epilogue;
  if (e.plain) return;
  const auto add = [&](const char* name, const void* data, int bytes, std::vector<Footprint::Dimension> dimensions) {
    if (data != nullptr) readable_.emplace_back(name, data, bytes, std::move(dimensions));
  };
  for (const Addend& a : e.addend)
    add("addend", a.data, element_bytes(a.type),
        {{params.order.batches, a.batch_stride}, {params.m, a.row_stride}, {params.n, a.column_stride}});
  add("scale_a", e.scale_a.data, 4, {{params.m, e.scale_a.stride}});
  add("scale_b", e.scale_b.data, 4, {{params.n, e.scale_b.stride}});
  add("scale_result", e.scale_result, 4, {});
  const int64_t elements =
      (params.order.batches - 1) * params.out_batch + (stored_rows - 1) * params.out_pitch + stored_columns;
  for (const Footprint& tensor : readable_)
    shares_output_ |= tensor.meets(params.out, elements * element_bytes(params.out_type));
}

void EpilogueMemory::check(const char* what, const void* address, int bytes, Line line) const {
  bool held = false;
  for (const Footprint& tensor : readable_) held = held || tensor.holds(address, bytes);
  if (!held)
    fail(Finding::out_of_bounds, what + (" at " + place(line) + " by " + who(self())) + " reads " + std::to_string(bytes) +
                                     " bytes outside the tensors of the epilogue");
}

void EpilogueMemory::read(const void* address, int bytes, Line line) {
  check("load_global", address, bytes, line);
  if (!shares_output_) return;
  const Side side = running(line);
  for (int i = 0; i < bytes; ++i) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address) + i;
    if (const auto written = writes_.find(at); written != writes_.end())
      report(Finding::early_read,
             "load_global at " + place(line) + " by " + who(self()) + " reads an element of the output after " +
                 describe(written->second) + " wrote it",
             "output read" + place(line));
    reads_[at] = side;
  }
}

void EpilogueMemory::write(const void* address, int64_t bytes, const char* what, Line line) {
  if (!shares_output_) return;
  const Side side = running(line);
  for (int64_t i = 0; i < bytes; ++i) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(address) + i;
    writes_[at] = side;
    const auto read = reads_.find(at);
    if (read == reads_.end() || (read->second.block == side.block && read->second.warpgroup == side.warpgroup)) continue;
    report(Finding::overwrite,
           std::string(what) + " at " + place(line) + " by " + who(self()) + " writes an element that " +
               describe(read->second) + " reads as an addend: nothing orders the two",
           "output write" + place(line));
  }
}

void EpilogueMemory::write_box(const TensorMapSpec& spec, int c0, int c1, int c2, Line line) {
  if (!shares_output_) return;
  const int64_t element = element_bytes(spec.type), begin = std::max(c0, 0);
  const int64_t end = std::min<int64_t>(c0 + spec.box[0], spec.extent[0]);
  for (int64_t row = std::max(c1, 0); row < std::min<int64_t>(c1 + spec.box[1], spec.extent[1]); ++row)
    write(static_cast<const char*>(spec.address) + c2 * spec.batch_bytes + row * spec.pitch_bytes + begin * element,
          (end - begin) * element, "tma_store", line);
}

}  // namespace hopper_gemm::emulator
