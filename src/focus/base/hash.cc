#include "focus/base/hash.h"

namespace focus {

void Hash64::add(std::span<const std::byte> bytes) {
  constexpr uint64_t kPrime = 0x100000001b3;
  for (const std::byte b : bytes) {
    state_ = (state_ ^ std::to_integer<uint64_t>(b)) * kPrime;
  }
}

void Hash64::add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }

void Hash64::add(int64_t value) {
  std::byte bytes[8];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
  }
  add(std::span<const std::byte>(bytes));
}

std::string Hash64::hex() const {
  std::string digits(16, '0');
  for (size_t i = 0; i < 16; ++i) digits[15 - i] = "0123456789abcdef"[state_ >> (4 * i) & 0xf];
  return digits;
}

}  // namespace focus
