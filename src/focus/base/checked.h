// Arithmetic on sizes that come from files: every result is either exact or absent.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace focus {

// a + b, or nothing when it does not fit in T.
template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// a * b, or nothing when it does not fit in T.
template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// The product of `extents` (1 when empty), or nothing when an extent is negative or a partial
// product does not fit: {2^40, 2^40, 0} is refused although its product is 0.
inline std::optional<int64_t> checked_product(std::span<const int64_t> extents) {
  int64_t product = 1;
  bool zero = false;
  for (const int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      zero = true;
      continue;
    }
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return zero ? 0 : product;
}

}  // namespace focus
