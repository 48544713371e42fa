// cp.async, the proxy fence, global stores and what a thread must not leave behind.
#include <algorithm>
#include <cstring>

#include "costs.h"
#include "machine.h"

namespace hopper_gemm::emulator {

namespace {

// The element of A or B at `source`: cp.async is given addresses, not coordinates. The matrices of a batch must follow each
// other for this, or share rows (slices of K).
Origin origin_of(const void* source, uint32_t valid_bytes) {
  const GemmParams& params = machine->params;
  if (valid_bytes == 0 || machine->launch.operands_overlap) return {};
  const int element = machine->launch.operand_bytes;
  const auto in = [&](const void* data, int64_t pitch, int64_t batch) -> Origin {
    int64_t offset = static_cast<const char*>(source) - static_cast<const char*>(data);
    const int64_t pitch_bytes = pitch * element, batch_bytes = batch * element;
    const int64_t place = batch < pitch ? offset % pitch_bytes : offset;
    const int64_t matrix = batch > 0 ? place / batch_bytes : 0;
    offset -= matrix * batch_bytes;
    return {source_of(data), static_cast<int32_t>(offset % pitch_bytes / element),
            static_cast<int32_t>(offset / pitch_bytes), static_cast<int32_t>(matrix)};
  };
  // The operand whose start is the nearest one below.
  const bool after_a = params.a != nullptr && params.a_pitch > 0 && source >= params.a;
  const bool after_b = params.b != nullptr && params.b_pitch > 0 && source >= params.b;
  if (after_a && (!after_b || params.a >= params.b)) return in(params.a, params.a_pitch, params.a_batch);
  if (after_b) return in(params.b, params.b_pitch, params.b_batch);
  return {};
}

}  // namespace

void leave_undefined(void* shared, int bytes, Line line) {
  if (bytes <= 0) return;
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t address = window_address(cta, shared, "leave_undefined", line);
  cta.shadow.leave_undefined((address - kSharedStart) / 16, static_cast<uint32_t>(bytes) / 16,
                             access(Access::By::store, thread, line, {}), thread.clock);
  std::memset(shared_bytes_at(cta, address), 0xFF, bytes);  // NaNs, but for integers
}

void cp_async_16(void* destination, const void* source, uint32_t valid_bytes, Line line) {
  tick(costs::kRegister);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  const uint32_t address = window_address(cta, destination, "cp_async_16", line);
  if (address % 16 != 0)
    fail(Finding::alignment, "cp_async_16 at " + place(line) + ": the destination is not 16-byte aligned");
  if (reinterpret_cast<uintptr_t>(source) % 16 != 0)
    fail(Finding::alignment, "cp_async_16 at " + place(line) + ": the source is not 16-byte aligned");
  check_grid_order("cp_async_16", line);
  if (valid_bytes > 16)
    fail(Finding::out_of_bounds, "cp_async_16 at " + place(line) + ": valid_bytes is " + std::to_string(valid_bytes));
  const uint32_t unit = (address - kSharedStart) / 16;
  const Epoch end = {component_of(cta, thread.copies_component), thread.copy_groups_begun};
  cta.shadow.begin_write(unit, 1, cta.shadow.add(access(Access::By::cp_async, thread, line, end)), thread.clock);
  cta.shadow.set_origin(unit, origin_of(source, valid_bytes));
  std::memset(shared_bytes_at(cta, address), 0xFF, 16);
  if (!thread.open_copies) thread.open_copies = std::make_shared<CopyGroup>();
  thread.open_copies->copies.push_back({address, source, valid_bytes, line});
}

void wait_for_previous_grid() { self().previous_grid_awaited = true; }

void check_grid_order(const char* what, Line line) {
  if (!machine->launch.overlaps_previous_grid || self().previous_grid_awaited) return;
  report(Finding::grid_order,
         std::string(what) + " at " + place(line) + " by " + who(self()) +
             " before wait_for_previous_grid: the grid before this one may still be writing what it reads, or reading what "
             "it writes",
         std::string("grid ") + what + place(line));
}

void allow_next_grid(Line line) {
  if (!machine->launch.overlaps_previous_grid || self().previous_grid_awaited) return;
  report(Finding::grid_order,
         "allow_next_grid at " + place(line) + " by " + who(self()) +
             " before wait_for_previous_grid: the grid after this one may load early what the grid before is still writing",
         "grid allow" + place(line));
}

void cp_async_commit(Line) {
  tick(costs::kIssue);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  if (!thread.open_copies) thread.open_copies = std::make_shared<CopyGroup>();  // an empty group counts too
  std::shared_ptr<CopyGroup> group = std::move(thread.open_copies);
  thread.open_copies.reset();
  group->number = thread.copy_groups_begun++;
  thread.copy_groups.push_back(group);
  if (group->copies.empty()) {
    group->done = true;
    return;
  }
  Scheduler& scheduler = machine->scheduler;
  cta.load_port_free =
      std::max(cta.load_port_free, scheduler.now()) + static_cast<int64_t>(group->copies.size() * 16 / costs::kPortBytes);
  scheduler.post(cta.load_port_free + costs::kLoadLatency, [&thread, &cta, group] {
    if (cta.exited) return;
    for (const CopyGroup::Copy& copy : group->copies) {
      unsigned char* bytes = shared_bytes_at(cta, copy.address);
      std::memcpy(bytes, copy.source, copy.valid_bytes);
      std::memset(bytes + copy.valid_bytes, 0, 16 - copy.valid_bytes);
    }
    group->done = true;
    if (thread.waiting.on == Waiting::On::cp_async) {
      thread.waiting.on = Waiting::On::nothing;
      machine->scheduler.make_ready(thread);
    }
  });
}

void cp_async_wait(int groups, Line line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  Cta& cta = *thread.cta;
  while (thread.copy_groups.size() > static_cast<size_t>(groups)) {
    const CopyGroup& oldest = *thread.copy_groups.front();
    if (!oldest.done) {
      block_on({Waiting::On::cp_async, nullptr, 0, {}, 0, line});
      continue;
    }
    // Only now may the program rely on the bytes; as ordinary writes they still need a proxy fence before wgmma.
    for (const CopyGroup::Copy& copy : oldest.copies) {
      const uint32_t unit = (copy.address - kSharedStart) / 16;
      cta.shadow.end_write(unit, 1);
      cta.shadow.mark_unfenced(unit);
      thread.unfenced.push_back(unit);
    }
    if (!oldest.copies.empty()) thread.clock.raise(thread.copies_component, oldest.number);
    thread.copy_groups.pop_front();
  }
}

void async_proxy_fence(Line) {
  tick(costs::kBarrier);
  Thread& thread = self();
  for (const uint32_t unit : thread.unfenced) thread.cta->shadow.fence(unit, static_cast<uint16_t>(thread.view.thread));
  thread.unfenced.clear();
}

void poisoned_accumulator(Line line) {
  report(Finding::accumulator,
         "accumulator read before the wgmma_wait that covers it, or before anything was written to it, by " + who(self()) +
             " at " + place(line),
         "poison" + place(line));
}

namespace {

void check_aligned(const char* what, const void* address, int bytes, Line line) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    fail(Finding::alignment, std::string(what) + " at " + place(line) + " by " + who(self()) +
                                 ": the address is not aligned to its " + std::to_string(bytes) + " bytes");
  check_grid_order(what, line);
}

// One of the launch's tensors must hold all of the bytes.
void check_held(const char* what, const std::vector<Footprint>& tensors, const void* address, int bytes, Line line) {
  std::string names;
  for (const Footprint& tensor : tensors) {
    if (tensor.holds(address, bytes)) return;
    names += (names.empty() ? "" : ", ") + tensor.name();
  }
  fail(Finding::out_of_bounds, std::string(what) + " at " + place(line) + " by " + who(self()) + " touches " +
                                   std::to_string(bytes) + " bytes that are not all elements of " + names);
}

}  // namespace

void load_global(const void* address, void* value, int bytes, Line line) {
  tick(costs::kIssue);
  check_aligned("load_global", address, bytes, line);
  const MemoryMap* memory = machine->launch.memory;
  const auto holds = [&](const Footprint& tensor) { return tensor.holds(address, bytes); };
  const bool is_listed = memory != nullptr && std::any_of(memory->reads.begin(), memory->reads.end(), holds);
  if (!machine->params.epilogue.plain && !is_listed) {
    machine->epilogue.read(address, bytes, line);
  } else if (memory != nullptr) {  // a hand-written kernel lists nothing
    check_held("load_global", memory->reads, address, bytes, line);
  }
  std::memcpy(value, address, bytes);
}

void prefetch_to_l2(const void* address, Line line) {
  tick(costs::kIssue);
  if (!machine->params.epilogue.plain) machine->epilogue.check("prefetch_to_l2", address, 1, line);
}

void store_global(void* address, const void* value, int bytes, Line line) {
  tick(costs::kStoreGlobal);
  check_aligned("store_global", address, bytes, line);
  if (machine->launch.memory != nullptr) {
    check_held("store_global", machine->launch.memory->writes, address, bytes, line);
    machine->epilogue.write(address, bytes, "store_global", line);
    std::memcpy(address, value, bytes);
    return;
  }
  uint32_t first_word = 0;
  if (bytes >= 4) std::memcpy(&first_word, value, 4);
  const DataType out_type = machine->params.out_type;
  if (out_type == DataType::s32 ? first_word == kPoisonInteger : first_word == kPoisonFloat || first_word == kPoisonHalves)
    poisoned_accumulator(line);
  // The output is the only thing a GEMM kernel writes; gaps between its rows belong to somebody else.
  const GemmParams& params = machine->params;
  const int64_t element = element_bytes(params.out_type), pitch = params.out_pitch * element;
  const auto [rows, columns] = machine->stored_output();
  const int64_t from_first = static_cast<unsigned char*>(address) - static_cast<unsigned char*>(params.out);
  const auto inside = [&](int64_t batch) {
    const int64_t offset = from_first - batch * params.out_batch * element;
    return offset >= 0 && offset / pitch < rows && offset % pitch + bytes <= columns * element;
  };
  bool held = false;
  for (int64_t batch = 0; pitch > 0 && batch < params.order.batches && !held; ++batch) held = inside(batch);
  if (!held)
    fail(Finding::out_of_bounds, "store_global at " + place(line) + " by " + who(self()) + " writes outside the output");
  machine->epilogue.write(address, bytes, "store_global", line);
  std::memcpy(address, value, bytes);
}

void check_thread_exit(Thread& thread) {
  if (!thread.store_groups.empty() || thread.open_stores)
    report(Finding::exit,
           who(thread) +
               " exits without tma_store_wait_read<0> after its TMA stores: their shared memory may be reused "
               "first",
           "exit stores");
  if (!thread.bindings.empty())
    report(Finding::exit, who(thread) + " exits with wgmma groups that no wgmma_wait covers", "exit wgmma");
}

}  // namespace hopper_gemm::emulator
