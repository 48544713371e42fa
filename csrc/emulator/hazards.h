// A shadow of one CTA's shared memory, 16 bytes a unit (every asynchronous access is made of whole units): who wrote and
// who read each unit last, when that is over, and for which element of which tensor it was written. Two accesses that
// conflict must be ordered by what the later one's issuer knows (clock.h); being lucky is not enough.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "clock.h"
#include "finding.h"
#include "hopper_gemm/arch/emu/machine.h"

namespace hopper_gemm::emulator {

// One side of a hazard: what accessed the bytes, who issued it, where, and what must be known for it to be over.
struct Access {
  enum class By : uint8_t { nothing, tma_load, cp_async, stmatrix, wgmma, tma_store, store, load };
  By by = By::nothing;
  uint16_t cta = 0;     // block index of the issuer
  uint16_t thread = 0;  // in that CTA
  Line line;
  Epoch end;
};

// The element a unit was written for: its first element's coordinates in the tensor it came from, innermost first.
struct Origin {
  uint16_t source = 0;  // 0: not known
  int32_t x = 0, y = 0, batch = 0;
};

class SharedShadow {
 public:
  void reset(uint32_t block, uint32_t bytes);
  uint32_t add(const Access& access);  // an access to begin: its index
  const Access& access(uint32_t index) const { return accesses_[index]; }

  // Asynchronous accesses, from issue to the point where they are over. Units are 16-byte indices from the start of the
  // dynamic segment; `clock` is what the issuer knows.
  void begin_write(uint32_t unit, uint32_t count, uint32_t index, const Clock& clock);
  void end_write(uint32_t unit, uint32_t count);
  void begin_read(uint32_t unit, uint32_t count, uint32_t index);
  void end_read(uint32_t unit, uint32_t count);
  void ordinary_read(uint32_t unit, uint32_t index, const Clock& clock);  // over at once
  // The reader must know that the unit's last write is over. wgmma asks this for each of its threads.
  void check_ordered_read(uint32_t unit, uint32_t writer, uint32_t index, const Clock& clock) const;
  uint32_t writer(uint32_t unit) const { return units_[unit].writer; }

  void set_origin(uint32_t unit, const Origin& origin) { origins_[unit] = origin; }
  const Origin& origin(uint32_t unit) const { return origins_[unit]; }

  // Nothing will write them, and whoever reads them may.
  void leave_undefined(uint32_t unit, uint32_t count, const Access& access, const Clock& clock);
  // Writes through the generic proxy: at once, or (cp.async) complete at the writer's wait.
  void generic_write(uint32_t unit, uint32_t index, const Clock& clock);
  void mark_unfenced(uint32_t unit);
  void fence(uint32_t unit, uint16_t thread);

 private:
  static constexpr int kReaders = 4;
  struct Unit {
    uint32_t writer = 0;                       // indices of accesses; 0: none
    std::array<uint32_t, kReaders> readers{};  // since the last write, the newest of each component
    uint16_t writes = 0, reads = 0;            // in flight
    bool unfenced = false;
  };
  void check_overwrite(uint32_t unit, uint32_t index, const Clock& clock) const;
  void add_reader(Unit& unit, uint32_t index) const;
  void set_writer(Unit& unit, uint32_t index);
  void hazard(Finding kind, const char* rule, uint32_t unit, uint32_t now, uint32_t before) const;

  uint32_t block_ = 0;
  std::vector<Access> accesses_;
  std::vector<Unit> units_;
  std::vector<Origin> origins_;
};

}  // namespace hopper_gemm::emulator
