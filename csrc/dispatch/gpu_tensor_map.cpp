// cuTensorMapEncodeTiled without libcuda at link time, and a small memory of the maps this thread encoded last.
// Encoding is host arithmetic, but a matmul called again with the same tensors need not repeat it three times.
#include <cudaTypedefs.h>

#include <cstring>

#include "cuda_check.h"
#include "gpu.h"

namespace hopper_gemm::gpu {
namespace {

PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  static const PFN_cuTensorMapEncodeTiled_v12000 function = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;  // left unwritten on errors
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000, cudaEnableDefault, &result),
          "looking up cuTensorMapEncodeTiled");
    if (result != cudaDriverEntryPointSuccess || address == nullptr)
      throw Error(Error::Kind::runtime,
                  "the NVIDIA driver has no cuTensorMapEncodeTiled: update it to one for CUDA 12 or later");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(address);
  }();
  return function;
}

CUtensorMapDataType map_type(DataType type) {
  switch (type) {
    case DataType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DataType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DataType::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DataType::tf32: return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;  // rounds to nearest even on load
    case DataType::s32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

CUtensorMapSwizzle map_swizzle(Swizzle swizzle) {
  constexpr CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                             CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
  return swizzles[static_cast<int>(swizzle)];
}

// How much of a line pair a miss fetches from memory. 256 bytes were never faster and 7% slower where rows are no whole
// lines (1000^3, 13540x576x88), 5% at 16x6144x4096 (H200, 2026-11-30).
constexpr CUtensorMapL2promotion kPromotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;

TensorMap encode(const TensorMapSpec& spec) {
  CUtensorMap map;
  static_assert(sizeof(map) == sizeof(TensorMap));
  const cuuint64_t extent[] = {spec.extent[0], spec.extent[1], spec.batches}, pitch[] = {spec.pitch_bytes, spec.batch_bytes};
  const cuuint32_t box[] = {spec.box[0], spec.box[1], 1}, element_strides[] = {1, 1, 1};
  const auto attempt = [&] {
    return encoder()(&map, map_type(spec.type), 3, spec.address, extent, pitch, box, element_strides,
                     CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(spec.swizzle), kPromotion,
                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CUresult code = attempt();
  if (code ==
      CUDA_ERROR_INVALID_CONTEXT) {  // a thread that never made a CUDA call, such as autograd's: it has no context yet
    int device = 0;
    check(cudaGetDevice(&device), "asking for the current CUDA device");
    check(cudaSetDevice(device), "making the tensors' device current");
    code = attempt();
  }
  if (code != CUDA_SUCCESS)
    throw Error(Error::Kind::runtime, text("cuTensorMapEncodeTiled refused (CUresult ", static_cast<int>(code), ") extent ",
                                           extent[0], " x ", extent[1], " x ", extent[2], ", pitch ", pitch[0], " bytes, ",
                                           pitch[1], " bytes between matrices, box ", box[0], " x ", box[1], ", swizzle ",
                                           swizzle_span_bytes(spec.swizzle), " bytes, address ", spec.address));
  TensorMap result;
  std::memcpy(&result, &map, sizeof(result));
  return result;
}

// TensorMapSpec as words without padding, to compare and hash.
struct Key {
  uint64_t words[8];
  explicit Key(const TensorMapSpec& s)
      : words{reinterpret_cast<uint64_t>(s.address),
              s.extent[0],
              s.extent[1],
              s.pitch_bytes,
              uint64_t{s.box[0]} << 32 | s.box[1],
              static_cast<uint64_t>(s.type) << 8 | static_cast<uint64_t>(s.swizzle),
              s.batches,
              s.batch_bytes} {}
  bool operator==(const Key& other) const { return std::memcmp(words, other.words, sizeof(words)) == 0; }
  uint64_t hash() const {
    uint64_t h = 0;
    for (const uint64_t word : words) h = (h ^ word) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
    return h;
  }
};

}  // namespace

TensorMap encode_tensor_map(const TensorMapSpec& spec) {
  struct Slot {
    Key key{TensorMapSpec{}};
    TensorMap map{};
  };
  // Direct-mapped, about 100 KB a thread: the weights of a language model, three maps a product. A map is fully determined by
  // its key, so a stale slot cannot mislead.
  constexpr int kSlots = 512;
  static thread_local Slot slots[kSlots];
  const Key key(spec);
  Slot& slot = slots[key.hash() % kSlots];
  if (!(slot.key == key)) slot.map = encode(spec), slot.key = key;
  return slot.map;
}

}  // namespace hopper_gemm::gpu
