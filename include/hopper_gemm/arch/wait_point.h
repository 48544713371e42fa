// Names for the places a kernel can wait at and for what a role is doing: both back ends and every report use them.
#pragma once

namespace hopper_gemm::arch {

// Which barrier a wait is on. With the stage it makes a hang a sentence.
enum class Wait : int { full, empty, order_mainloop, order_epilogue };

struct WaitPoint {
  Wait wait;
  int stage;
};

// What a warpgroup is doing from here on. Costs nothing on the GPU; the emulator draws timelines from it.
enum class Activity : int { idle, load, mainloop, epilogue };

}  // namespace hopper_gemm::arch
