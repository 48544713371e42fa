// Which copies read words across the ends of rows whole: prints a line of 0 and 1 for tests/test_packing.py.
#include <cstdio>

#include "../../csrc/dispatch/pack.h"

int main() {
  using namespace hopper_gemm;
  alignas(16) static char memory[1 << 16];
  const auto across = [](int element_bytes, int64_t columns, Copy::Side source, Copy::Split split = Copy::Split::none) {
    Copy copy = {};
    copy.element_bytes = element_bytes;
    copy.rows = 9, copy.columns = columns, copy.padded_columns = round_up(columns, int64_t{16} / element_bytes);
    copy.source = source;
    copy.target = {memory, split == Copy::Split::none ? copy.padded_columns : 3 * copy.padded_columns, 1};
    copy.split = split;
    std::printf("%d", pack_params({copy}).jobs[0].across);
  };
  across(2, 237, {memory, 237, 1});                   // adjacent rows that end within words
  across(2, 240, {memory + 2, 240, 1});               // whole words, off their boundary
  across(2, 4093, {memory, 4093, 1});                 // long rows
  across(2, 237, {memory, 240, 1});                   // a gap after each row
  across(2, 240, {memory + 2, 248, 1});               // the same off a boundary
  across(2, 240, {memory, 240, 1});                   // whole words
  across(4, 64, {memory, 64, 1}, Copy::Split::left);  // the usual operand of 3xTF32
  across(2, 237, {memory, 1, 9});                     // rows become columns
  across(2, 237, {memory, 2 * 237, 2});               // every second element
  std::printf("\n");
}
