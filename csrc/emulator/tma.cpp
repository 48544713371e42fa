// TMA loads and stores: queued when issued, executed at a moment of the scheduler's choice. Between issue and execution
// the destination of a load holds poison, so that reading too early gives NaNs even where no rule notices.
#include <algorithm>
#include <cstring>

#include "costs.h"
#include "machine.h"
#include "tensor_map.h"

namespace hopper_gemm::emulator {

namespace {

const TensorMapSpec& checked_map(const TensorMap& map, const char* what, Line line) {
  const TensorMapSpec* spec = decoded(map);
  if (spec == nullptr)
    fail(Finding::out_of_bounds, std::string(what) + " at " + place(line) + ": the tensor map was never encoded");
  return *spec;
}

// The box's window address; reports what hardware would refuse or scramble.
uint32_t checked_box(const TensorMapSpec& spec, const void* pointer, const char* what, Line line) {
  const Cta& cta = *self().cta;
  const uint32_t address = window_address(cta, pointer, what, line);
  const std::string at = std::string(what) + " at " + place(line) + ": ";
  if (address - kSharedStart + box_bytes(spec) > cta.shared_bytes)
    fail(Finding::out_of_bounds, at + "the box does not fit into shared memory");
  const uint32_t alignment = spec.swizzle == Swizzle::none ? 128 : 8 * swizzle_span_bytes(spec.swizzle);
  const std::string byte = "shared byte " + std::to_string(address - kSharedStart);
  if (address % 128 != 0) fail(Finding::alignment, at + byte + " is not 128-byte aligned");
  if (address % alignment != 0)
    report(Finding::alignment,
           at + byte + " is not a multiple of " + std::to_string(alignment) + ", where the swizzle pattern starts",
           "box alignment" + place(line));
  if (spec.swizzle != Swizzle::none && box_row_bytes(spec) != static_cast<uint32_t>(swizzle_span_bytes(spec.swizzle)))
    report(Finding::alignment,
           at + "a box row of " + std::to_string(box_row_bytes(spec)) + " bytes is not the swizzle span of " +
               std::to_string(swizzle_span_bytes(spec.swizzle)) + "; what hardware does then is not known here",
           "box row" + place(line));
  return address;
}

// Where a box may start: rows in whole 16 bytes, stores not before the tensor. Anything else is an illegal instruction
// (H200, 2026-11-30: the refused cases of tests/golden/parity.golden.xz).
void check_start(const TensorMapSpec& spec, int c0, int c1, bool is_store, Line line) {
  const bool whole = c0 * element_bytes(spec.type) % 16 == 0, inside = !is_store || (c0 >= 0 && c1 >= 0);
  if (whole && inside) return;
  fail(Finding::alignment,
       std::string(is_store ? "tma_store" : "tma_load") + " at " + place(line) + " by " + who(self()) +
           ": a box at element " + std::to_string(c0) + ", row " + std::to_string(c1) + " is an illegal instruction: " +
           (whole ? "a store does not start before the tensor" : "it starts at whole 16 bytes of a row"));
}

// A load may come before the wait for the previous grid if the launch promises that nothing still writes what it reads.
void check_load_order(const TensorMap& map, Line line) {
  const GemmParams& params = machine->params;
  const bool static_a = params.static_operand == StaticOperand::a && (&map == &params.a_map || &map == &params.a_edge_map);
  const bool static_b = params.static_operand == StaticOperand::b && (&map == &params.b_map || &map == &params.b_edge_map);
  if (!static_a && !static_b) return check_grid_order("tma_load", line);
  if (self().previous_grid_awaited) return;
  machine->early_a += static_a;
  machine->early_b += static_b;
}

// When a transfer of `bytes` issued now ends, if transfers of a port follow each other.
int64_t port_time(int64_t& free_at, uint32_t bytes, int latency) {
  free_at = std::max(free_at, machine->scheduler.now()) + bytes / costs::kPortBytes;
  return free_at + latency;
}

void load_into(Cta& target, const TensorMapSpec& spec, uint32_t address, uint32_t barrier_address, int c0, int c1, int c2,
               Line line) {
  const uint32_t bytes = box_bytes(spec);
  const uint32_t unit = (address - kSharedStart) / 16;
  Thread& issuer = self();
  if (target.exited) {
    report(Finding::exit,
           "TMA load at " + place(line) + " by " + who(issuer) + " writes into CTA " + std::to_string(target.block) +
               ", which has exited",
           "load exited" + place(line));
    return;
  }
  Mbarrier& barrier = barrier_at(target, barrier_address, "tma_load", line);
  check_visible(target, barrier, "tma_load", line);
  if (!barrier.fenced)
    report(
        Finding::visibility,
        "tma_load at " + place(line) + ": " + barrier_name(barrier) + " was not made visible to TMA by barrier_init_fence",
        "load fence" + place(line));
  const Epoch end = {component_of(target, barrier.component), static_cast<uint32_t>(barrier.phase + 1)};
  const uint32_t index = target.shadow.add(access(Access::By::tma_load, issuer, line, end));
  target.must_know("TMA load", end, line);
  target.shadow.begin_write(unit, bytes / 16, index, issuer.clock);
  const uint16_t source = source_of(spec.address);
  for_each_box_unit(spec, c0, c1, address, [&](uint32_t offset, int x, int y) {
    target.shadow.set_origin(unit + offset / 16, {source, x, y, c2});
  });
  std::memset(shared_bytes_at(target, address), 0xFF, bytes);
  ++target.inbound;
  const int64_t time = port_time(target.load_port_free, bytes, costs::kLoadLatency);
  machine->scheduler.post(time, [&target, &barrier, &issuer, spec, address, unit, bytes, c0, c1, c2, line,
                                 phase = barrier.phase, begin = machine->scheduler.clock()] {
    --target.inbound;
    if (!machine->options.protocol_only) load_box(spec, c0, c1, c2, shared_bytes_at(target, address), address);
    add_span(SpanKind::transfer, target, issuer.warpgroup->index, barrier.named ? barrier.point.stage : 0, begin,
             machine->scheduler.clock());
    target.shadow.end_write(unit, bytes / 16);
    complete_bytes(target, barrier, bytes, phase, line);
  });
}

// What a store will write beyond its tensor, or beyond the output if that is what it writes.
void check_store_extent(const TensorMapSpec& spec, int c0, Line line) {
  const GemmParams& params = machine->params;
  const std::string at = "tma_store at " + place(line) + " by " + who(self());
  if (const int columns = columns_beyond(spec, c0); columns != 0)
    report(Finding::store_clip,
           at + " writes " + std::to_string(columns) + " columns beyond the tensor's " + std::to_string(spec.extent[0]) +
               ": TMA stores clip at whole 16 bytes, not at elements",
           "clip" + place(line));
  const auto [rows, columns] = machine->stored_output();
  if (spec.address == params.out && params.n > 0 &&
      (static_cast<int64_t>(spec.extent[0]) > columns || static_cast<int64_t>(spec.extent[1]) > rows))
    report(Finding::out_of_bounds,
           at + " writes through a tensor map of " + std::to_string(spec.extent[1]) + " x " +
               std::to_string(spec.extent[0]) + ", larger than the output of " + std::to_string(rows) + " x " +
               std::to_string(columns),
           "map extent" + place(line));
}

}  // namespace

uint16_t source_of(const void* address) {
  auto& sources = machine->sources;
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i].first == address) return static_cast<uint16_t>(i + 1);
  sources.push_back({address, address == machine->params.a ? "A" : address == machine->params.b ? "B" : "a tensor"});
  return static_cast<uint16_t>(sources.size());
}

uint32_t window_address(const Cta& cta, const void* pointer, const char* what, Line line) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(cta.shared);
  if (offset >= cta.shared_bytes)
    fail(Finding::out_of_bounds, std::string(what) + " at " + place(line) + " by " + who(self()) +
                                     ": the address is not in the CTA's " + std::to_string(cta.shared_bytes) +
                                     " bytes of dynamic shared memory");
  return kSharedStart + static_cast<uint32_t>(offset);
}

uint32_t shared_address(const void* pointer, Line line) {
  return window_address(*self().cta, pointer, "shared_address", line);
}

void tma_prefetch(const TensorMap& map, Line line) {
  tick(costs::kIssue);
  checked_map(map, "tma_prefetch", line);
}

void tma_load(void* destination, const TensorMap& map, uint64_t& barrier, int c0, int c1, int c2, uint32_t cta_mask,
              Line line) {
  tick(costs::kIssue);
  Cta& cta = *self().cta;
  const TensorMapSpec& spec = checked_map(map, "tma_load", line);
  check_load_order(map, line);
  const uint32_t address = checked_box(spec, destination, "tma_load", line);
  check_start(spec, c0, c1, false, line);
  const uint32_t barrier_address = window_address(cta, &barrier, "tma_load", line);
  if (cta_mask == kNoMulticast) {
    load_into(cta, spec, address, barrier_address, c0, c1, c2, line);
    return;
  }
  if (cta_mask == 0 || cta_mask >> cta.cluster->ctas.size() != 0)
    fail(Finding::out_of_bounds, "tma_load_multicast at " + place(line) + ": mask " + std::to_string(cta_mask) +
                                     " names CTAs outside the cluster of " + std::to_string(cta.cluster->ctas.size()));
  for (size_t rank = 0; rank < cta.cluster->ctas.size(); ++rank)
    if (cta_mask >> rank & 1) load_into(*cta.cluster->ctas[rank], spec, address, barrier_address, c0, c1, c2, line);
}

void tma_store(const TensorMap& map, const void* source, int c0, int c1, int c2, Line line) {
  tick(costs::kIssue);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const TensorMapSpec& spec = checked_map(map, "tma_store", line);
  check_grid_order("tma_store", line);
  const uint32_t address = checked_box(spec, source, "tma_store", line);
  check_start(spec, c0, c1, true, line);
  const uint32_t bytes = box_bytes(spec);
  check_store_extent(spec, c0, line);
  machine->epilogue.write_box(spec, c0, c1, c2, line);
  const Epoch end = {component_of(cta, thread.stores_component), thread.store_groups_begun};
  const uint32_t index = cta.shadow.add(access(Access::By::tma_store, thread, line, end));
  const uint32_t unit = (address - kSharedStart) / 16;
  for (uint32_t i = unit; i < unit + bytes / 16; ++i)
    cta.shadow.check_ordered_read(i, cta.shadow.writer(i), index, thread.clock);
  cta.shadow.begin_read(unit, bytes / 16, index);
  if (!thread.open_stores) thread.open_stores = std::make_shared<StoreGroup>();
  thread.open_stores->stores.push_back({address, bytes});
  ++thread.open_stores->unread;
  const int64_t time = port_time(cta.store_port_free, bytes, costs::kStoreLatency);
  // Reading shared memory and writing global memory are two moments; only the first one frees the buffer.
  machine->scheduler.post(time, [&cta, &thread, spec, address, bytes, c0, c1, c2, group = thread.open_stores,
                                 begin = machine->scheduler.clock()] {
    const unsigned char* image = shared_bytes_at(cta, address);
    std::vector<unsigned char> data(image, image + bytes);
    --group->unread;
    add_span(SpanKind::store, cta, thread.warpgroup->index, 0, begin, machine->scheduler.clock());
    if (thread.waiting.on == Waiting::On::store_read) {
      thread.waiting.on = Waiting::On::nothing;
      machine->scheduler.make_ready(thread);
    }
    const int64_t written = machine->scheduler.now() + costs::kStoreLatency;
    machine->scheduler.post(
        written, [spec, data = std::move(data), address, c0, c1, c2] { store_box(spec, c0, c1, c2, data.data(), address); });
  });
}

void tma_store_commit(Line) {
  tick(costs::kIssue);
  Thread& thread = self();
  if (!thread.open_stores) thread.open_stores = std::make_shared<StoreGroup>();  // an empty group counts too
  thread.open_stores->number = thread.store_groups_begun++;
  thread.store_groups.push_back(std::move(thread.open_stores));
  thread.open_stores.reset();
}

void tma_store_wait_read(int groups, Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  while (thread.store_groups.size() > static_cast<size_t>(groups)) {
    StoreGroup& oldest = *thread.store_groups.front();
    if (oldest.unread != 0) {
      block_on({Waiting::On::store_read, nullptr, 0, {}, 0, line});
      continue;
    }
    for (const StoreGroup::Store& store : oldest.stores)
      thread.cta->shadow.end_read((store.address - kSharedStart) / 16, store.bytes / 16);
    if (!oldest.stores.empty()) thread.clock.raise(thread.stores_component, oldest.number);
    thread.store_groups.pop_front();
  }
}

}  // namespace hopper_gemm::emulator
