// Small helpers of the emulator's tests: CHECK, random 16-bit data, pieces of text.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "hopper_gemm.h"
#include "hopper_gemm/arch/emu/numeric.h"

namespace hopper_gemm::test {

inline int failures = 0;

inline bool check(bool ok, const char* text, const char* file, int line) {
  if (!ok) {
    ++failures;
    std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
  }
  return ok;
}
#define CHECK(condition) ::hopper_gemm::test::check((condition), #condition, __FILE__, __LINE__)

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// True if one of the findings contains all of `parts`; otherwise prints them.
inline bool found(const EmulatorReport& report, const std::vector<std::string>& parts) {
  for (const std::string& finding : report.findings) {
    bool all = true;
    for (const std::string& part : parts) all = all && contains(finding, part);
    if (all) return true;
  }
  std::fprintf(stderr, "  wanted:");
  for (const std::string& part : parts) std::fprintf(stderr, " '%s'", part.c_str());
  std::fprintf(stderr, "\n  findings: %zu\n", report.findings.size());
  for (const std::string& finding : report.findings) std::fprintf(stderr, "    %s\n", finding.c_str());
  return false;
}

inline bool clean(const EmulatorReport& report) {
  for (const std::string& finding : report.findings) std::fprintf(stderr, "  unexpected finding: %s\n", finding.c_str());
  return report.findings.empty();
}

inline float value_of(DataType type, uint16_t bits) {
  return type == DataType::bf16 ? emulator::float_from_bf16(bits) : emulator::float_from_f16(bits);
}
inline uint16_t bits_of(DataType type, float value) {
  return type == DataType::bf16 ? emulator::bf16_from_float(value) : emulator::f16_from_float(value);
}

// Roughly normal values, the same for the same seed.
inline std::vector<uint16_t> random_values(size_t count, DataType type, uint32_t seed) {
  std::vector<uint16_t> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (uint16_t& value : values) {
    float sum = -2.0f;
    for (int i = 0; i < 4; ++i) {
      state = state * 1664525u + 1013904223u;
      sum += static_cast<float>(state >> 8) * 0x1p-24f;
    }
    value = bits_of(type, sum);
  }
  return values;
}

inline int result() {
  if (failures == 0) std::printf("ok\n");
  return failures == 0 ? 0 : 1;
}

}  // namespace hopper_gemm::test
