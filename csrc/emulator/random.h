// The seeded generator behind every choice the emulator makes: a run replays exactly from its seed.
#pragma once
#include <cstdint>

namespace hopper_gemm::emulator {

// One step of splitmix64: also a hash.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(mix(seed)) {}
  uint32_t next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state_ >> 32);
  }
  // Uniform in [0, count).
  uint32_t below(uint32_t count) { return static_cast<uint32_t>(static_cast<uint64_t>(next()) * count >> 32); }
  // True once in 2^bits times on average.
  bool once_in(int bits) { return next() >> (32 - bits) == 0; }

 private:
  uint64_t state_;
};

}  // namespace hopper_gemm::emulator
