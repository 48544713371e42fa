// A shadow of one CTA's shared memory, 16 bytes a unit (every asynchronous access is made of whole units): which bytes
// are being written or read by operations in flight, and which were written by ordinary stores that no proxy fence
// has followed. Finds races that a lucky interleaving would hide.
#pragma once
#include <cstdint>
#include <vector>

#include "hopper_gemm/arch/emu/machine.h"

namespace hopper_gemm::emulator {

// One side of a hazard: what accessed the bytes, who issued it, where.
struct Access {
  enum class By : uint8_t { nothing, tma_load, cp_async, stmatrix, wgmma, tma_store };
  By by = By::nothing;
  uint16_t cta = 0;     // block index of the issuer
  uint16_t thread = 0;  // in that CTA
  Line line;
};

class SharedShadow {
 public:
  void reset(uint32_t block, uint32_t bytes);

  // Asynchronous accesses, from issue to the point where the program may rely on their end. Units are 16-byte indices
  // from the start of the dynamic segment.
  void begin_write(uint32_t unit, uint32_t count, const Access& access);
  void end_write(uint32_t unit, uint32_t count);
  void begin_read(uint32_t unit, uint32_t count, const Access& access);
  void end_read(uint32_t unit, uint32_t count);

  // Writes through the generic proxy: at once, or (cp.async) complete at the writer's wait.
  void generic_write(uint32_t unit, const Access& access);
  void mark_unfenced(uint32_t unit, const Access& access);
  void fence(uint32_t unit, uint16_t thread);

 private:
  struct Unit {
    Access writer, reader;
    uint16_t writes = 0, reads = 0;  // in flight
    bool unfenced = false, written = false;
  };
  void hazard(const char* rule, uint32_t unit, const Access& now, const Access& before) const;

  uint32_t block_ = 0;
  std::vector<Unit> units_;
};

}  // namespace hopper_gemm::emulator
