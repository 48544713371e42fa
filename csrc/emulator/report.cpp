// Sentences: who, where, waiting for what. A deadlock report groups the threads of a warp that wait alike.
#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "machine.h"

namespace hopper_gemm::emulator {

std::string place(Line line) {
  const char* file = line.file_name();
  if (const char* inside = std::strstr(file, "hopper_gemm/")) {
    while (const char* next = std::strstr(inside + 1, "hopper_gemm/")) inside = next;
    file = inside + std::strlen("hopper_gemm/");
  } else if (const char* slash = std::strrchr(file, '/')) {
    file = slash + 1;
  }
  return std::string(file) + ":" + std::to_string(line.line());
}

namespace {

std::string role(const Warpgroup& warpgroup) {
  if (!warpgroup.multiplies) return warpgroup.loads ? " (producer)" : "";
  int index = 0;  // among the warpgroups that multiply
  for (const Warpgroup& other : warpgroup.cta->warpgroups) {
    if (&other == &warpgroup) break;
    index += other.multiplies;
  }
  return " (consumer " + std::to_string(index) + ")";
}

std::string who_warpgroup(const Thread& thread) {
  return "CTA " + std::to_string(thread.cta->block) + " warpgroup " + std::to_string(thread.warpgroup->index) +
         role(*thread.warpgroup);
}

std::string waits_on(const Thread& thread) {
  using On = Waiting::On;
  const Waiting& w = thread.waiting;
  const Cta& cta = *thread.cta;
  std::ostringstream out;
  switch (w.on) {
    case On::nothing: return "is ready to run";
    case On::mbarrier:
      out << "waits on " << barrier_name(*w.barrier) << " for parity " << w.parity << " (" << barrier_state(*w.barrier)
          << ")";
      break;
    case On::warp:
      out << "waits in " << thread.warp->operation << " for the rest of its warp: " << thread.warp->arrived
          << " of 32 lanes are there";
      break;
    case On::warpgroup: out << "waits for the rest of its warpgroup to execute setmaxnreg"; break;
    case On::registers:
      out << "waits in increase_registers for " << w.amount << " registers more a thread; the pool has "
          << cta.free_registers << " (targets of all warpgroups must add up to at most "
          << machine->launch.entry_registers * static_cast<int>(cta.warpgroups.size()) << ")";
      break;
    case On::cta_barrier:
      out << "waits in cta_sync: " << cta.named[0].waiters.size() << " of " << cta.threads.size() << " threads are there";
      break;
    case On::named_barrier:
      out << "waits on named barrier " << w.amount << ": " << cta.named[w.amount].waiters.size() << " of "
          << cta.named[w.amount].expected << " threads are there";
      break;
    case On::cluster_barrier:
      out << "waits on the cluster barrier: " << cta.cluster->arrived << " of " << cta.cluster->running_threads
          << " running threads have arrived";
      break;
    case On::wgmma:
      out << "waits for wgmma group " << w.amount << "; " << thread.warpgroup->groups_done << " are done";
      if (!thread.warpgroup->operations.empty())
        out << ", the next operation of the warpgroup (" << place(thread.warpgroup->operations.front().line)
            << ") was executed by " << thread.warpgroup->operations.front().arrived << " of " << kWarpgroupThreads
            << " threads";
      break;
    case On::cp_async: out << "waits for its cp.async groups"; break;
    case On::remote_arrivals: out << "waits for its arrivals on other CTAs' barriers"; break;
    case On::store_read: out << "waits for its TMA stores to read shared memory"; break;
  }
  out << " at " << place(w.line);
  return out.str();
}

std::string doing(const Warpgroup& warpgroup) {
  constexpr const char* kNames[] = {"idle", "load", "mainloop", "epilogue"};
  if (warpgroup.activities.empty()) return "";
  const auto& [activity, tile] = warpgroup.activities.back();
  return std::string("; last activity: ") + kNames[static_cast<int>(activity)] + ", tile " + std::to_string(tile);
}

std::string lanes(const std::vector<int>& lanes) {
  if (lanes.size() == 32) return "all lanes";
  std::ostringstream out;
  out << (lanes.size() == 1 ? "lane " : "lanes ");
  for (size_t i = 0; i < lanes.size(); ++i) {
    size_t last = i;
    while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) ++last;
    out << (i != 0 ? "," : "") << lanes[i];
    if (last > i) out << "-" << lanes[last];
    i = last;
  }
  return out.str();
}

}  // namespace

std::string who(const Thread& thread) {
  return who_warpgroup(thread) + " warp " + std::to_string(thread.warp->index) + " lane " + std::to_string(thread.lane);
}

std::string barrier_name(const Mbarrier& barrier) {
  constexpr const char* kNames[] = {"full", "empty", "order_mainloop", "order_epilogue"};
  if (barrier.named)
    return std::string(kNames[static_cast<int>(barrier.point.wait)]) + "[" + std::to_string(barrier.point.stage) + "]";
  return "the barrier at shared byte " + std::to_string(barrier.address - kSharedStart);
}

std::string barrier_state(const Mbarrier& barrier) {
  return "phase " + std::to_string(barrier.phase) + ", " + std::to_string(barrier.pending) + " of " +
         std::to_string(barrier.arrivals) + " arrivals pending, " + std::to_string(barrier.tx_bytes) +
         " tx bytes outstanding";
}

Access access(Access::By by, const Thread& thread, Line line, Epoch end) {
  return {by, static_cast<uint16_t>(thread.cta->block), static_cast<uint16_t>(thread.view.thread), line, end};
}

// Components are numbered within a cluster: that of CTA `block`.
std::string name_of_epoch(const Epoch& epoch, uint32_t block) {
  if (epoch.component == kNoComponent) return "";
  for (const auto& cluster : machine->clusters) {
    const auto& ctas = cluster->ctas;
    if (std::none_of(ctas.begin(), ctas.end(), [block](const auto& cta) { return cta->block == block; })) continue;
    for (const auto& cta : ctas) {
      for (const Mbarrier& barrier : cta->barriers)
        if (barrier.component == epoch.component)
          return ", which is over when phase " + std::to_string(epoch.value - 1) + " of " + barrier_name(barrier) +
                 " completes";
      for (const Warpgroup& warpgroup : cta->warpgroups)
        if (warpgroup.component == epoch.component)
          return ", which is over when all warps of warpgroup " + std::to_string(warpgroup.index) +
                 " have waited for wgmma group " + std::to_string(epoch.value - 1);
    }
  }
  return "";
}

std::string deadlock_text(const Machine& m) {
  constexpr size_t kMostLines = 40;
  struct Group {
    std::string who, lanes, what;
    int first_warp, last_warp;
  };
  std::vector<Group> groups;
  std::string apart;  // warps whose lanes have lost each other
  for (const auto& cluster : m.clusters)
    for (const auto& cta : cluster->ctas)
      for (const Warp& warp : cta->warps) {
        std::map<std::string, std::vector<int>> by_text;
        const Thread* any = nullptr;
        for (int lane = 0; lane < 32; ++lane) {
          const Thread& thread = cta->threads[warp.index * 32 + lane];
          if (thread.done) continue;
          any = &thread;
          by_text[waits_on(thread) + doing(*thread.warpgroup)].push_back(lane);
        }
        for (const auto& [what, members] : by_text) {
          const Group group = {who_warpgroup(*any), lanes(members), what, warp.index, warp.index};
          // Warps of a warpgroup mostly wait alike: one line for all of them.
          if (!groups.empty() && groups.back().who == group.who && groups.back().what == what &&
              groups.back().lanes == group.lanes && by_text.size() == 1)
            groups.back().last_warp = warp.index;
          else
            groups.push_back(group);
        }
        if (warp.arrived > 0 && by_text.size() > 1 && apart.empty())
          apart = "\n  The lanes of warp " + std::to_string(warp.index) +
                  " have come apart: " + std::to_string(warp.arrived) + " are in " + warp.operation +
                  ". An arrival by one lane says nothing about the other lanes, unless the warp gathers first "
                  "(elect_one does).";
      }
  std::ostringstream out;
  out << "nothing can run and nothing is in flight";
  for (size_t i = 0; i < groups.size() && i < kMostLines; ++i) {
    const Group& g = groups[i];
    out << "\n  " << g.who << (g.first_warp == g.last_warp ? " warp " : " warps ") << g.first_warp;
    if (g.first_warp != g.last_warp) out << "-" << g.last_warp;
    out << " " << g.lanes << " " << g.what;
  }
  if (groups.size() > kMostLines) out << "\n  and " << groups.size() - kMostLines << " more";
  out << apart;
  return out.str();
}

}  // namespace hopper_gemm::emulator
