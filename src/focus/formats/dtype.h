// Element types of tensors in files, and their expansion to fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace focus {

enum class DType {
  kF32,
  kF16,
  kBF16,
  kF64,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kBool,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K
};

std::string_view dtype_name(DType dtype);  // "F32", "Q4_K", ... as the formats spell it
// Elements and bytes of one block (1 and the element size for unquantised types).
int64_t block_elements(DType dtype);
int64_t block_bytes(DType dtype);
// True for the types that expand_f32 takes: F32, F16, BF16 and the quantised ones.
bool is_expandable(DType dtype);
// Expands whole blocks: bytes.size() == out.size() / block_elements * block_bytes, else
// Error(kFormat).
void expand_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace focus
