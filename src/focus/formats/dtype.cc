#include "focus/formats/dtype.h"

#include <array>
#include <cstring>
#include <string_view>

#include "focus/base/checked.h"
#include "focus/base/error.h"
#include "focus/formats/quants.h"

namespace focus {
namespace {

void expand_f16(const std::byte* in, int64_t elements, float* out) {
  for (int64_t i = 0; i < elements; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, in + 2 * i, sizeof(half));
    out[i] = float_from_half(half);
  }
}

void expand_bf16(const std::byte* in, int64_t elements, float* out) {
  for (int64_t i = 0; i < elements; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, in + 2 * i, sizeof(bits));
    out[i] = float_from_bfloat16(bits);
  }
}

void copy_f32(const std::byte* in, int64_t elements, float* out) {
  std::memcpy(out, in, static_cast<size_t>(elements) * sizeof(float));
}

struct DTypeFacts {
  std::string_view name;
  int64_t elements, bytes;                                          // of a block
  void (*expand)(const std::byte* in, int64_t blocks, float* out);  // nullptr: not expandable
};

// In the order of the enumeration.
constexpr std::array<DTypeFacts, 18> kFacts = {{
    {"F32", 1, 4, copy_f32},
    {"F16", 1, 2, expand_f16},
    {"BF16", 1, 2, expand_bf16},
    {"F64", 1, 8, nullptr},
    {"I8", 1, 1, nullptr},
    {"I16", 1, 2, nullptr},
    {"I32", 1, 4, nullptr},
    {"I64", 1, 8, nullptr},
    {"U8", 1, 1, nullptr},
    {"BOOL", 1, 1, nullptr},
    {"Q4_0", 32, 18, expand_q4_0},
    {"Q4_1", 32, 20, expand_q4_1},
    {"Q5_0", 32, 22, expand_q5_0},
    {"Q5_1", 32, 24, expand_q5_1},
    {"Q8_0", 32, 34, expand_q8_0},
    {"Q4_K", 256, 144, expand_q4_k},
    {"Q5_K", 256, 176, expand_q5_k},
    {"Q6_K", 256, 210, expand_q6_k},
}};
static_assert(static_cast<size_t>(DType::kQ6_K) + 1 == kFacts.size());

const DTypeFacts& facts(DType dtype) { return kFacts.at(static_cast<size_t>(dtype)); }

}  // namespace

std::string_view dtype_name(DType dtype) { return facts(dtype).name; }
int64_t block_elements(DType dtype) { return facts(dtype).elements; }
int64_t block_bytes(DType dtype) { return facts(dtype).bytes; }
bool is_expandable(DType dtype) { return facts(dtype).expand != nullptr; }

void expand_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
  const DTypeFacts& f = facts(dtype);
  if (f.expand == nullptr) {
    throw Error(ErrorKind::kUnsupported, "dtype " + std::string(f.name),
                "a type that expands to fp32", "one that does not");
  }
  const auto elements = static_cast<int64_t>(out.size());
  const int64_t blocks = elements / f.elements;
  const auto size = checked_mul(blocks, f.bytes);
  if (elements % f.elements != 0 || size != static_cast<int64_t>(bytes.size())) {
    throw Error(
        ErrorKind::kFormat, "dtype " + std::string(f.name),
        std::to_string(f.bytes) + " bytes for every " + std::to_string(f.elements) + " elements",
        std::to_string(bytes.size()) + " bytes for " + std::to_string(elements));
  }
  if (blocks > 0) f.expand(bytes.data(), blocks, out.data());
}

}  // namespace focus
