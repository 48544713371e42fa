// Names of the enumerations as users write them, and a small way to build sentences.
#pragma once
#include <sstream>
#include <string>

#include "hopper_gemm/core/types.h"

namespace hopper_gemm {

constexpr const char* name_of(Schedule schedule) {
  constexpr const char* names[] = {"multistage", "tma", "warp_specialized", "cooperative", "pingpong"};
  return names[static_cast<int>(schedule)];
}
constexpr const char* name_of(DataType type) {
  constexpr const char* names[] = {"bf16", "f16", "f32", "tf32", "e4m3", "e5m2", "s8", "u8", "s32"};
  return names[static_cast<int>(type)];
}
constexpr const char* name_of(Activation activation) {
  constexpr const char* names[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid"};
  return names[static_cast<int>(activation)];
}
constexpr const char* name_of(Major major) { return major == Major::k ? "k" : "mn"; }
constexpr const char* name_of(Store store) {
  return store == Store::direct ? "direct" : store == Store::tma ? "tma" : "rows";
}
constexpr const char* name_of(Raster raster) {
  constexpr const char* names[] = {"along_m", "along_n", "apart"};
  return names[static_cast<int>(raster)];
}
constexpr const char* name_of(OutputOrder order) { return order == OutputOrder::row_major ? "row_major" : "column_major"; }

// Joins its arguments: <format> does not exist in g++ 12.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

}  // namespace hopper_gemm
