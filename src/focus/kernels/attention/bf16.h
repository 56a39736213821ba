#pragma once

#include <cstdint>
#include <cstring>

namespace focus {

// A bf16 value's bits.
struct Bf16 {
  uint16_t bits;
};

// Rounded to nearest, ties to even; NaN stays NaN.
inline Bf16 bf16_from_float(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

}  // namespace focus
