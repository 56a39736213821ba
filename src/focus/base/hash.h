// A streaming 64-bit hash for identity checks (not for security): FNV-1a.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace focus {

class Hash64 {
 public:
  // Cutting the same bytes into other pieces gives the same hash.
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  // Eight bytes, little-endian on every machine.
  void add(int64_t value);

  uint64_t value() const { return state_; }
  // 16 lower-case digits.
  std::string hex() const;

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace focus
