// A cursor over little-endian bytes of a file that may end anywhere.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "focus/base/error.h"

namespace focus {

static_assert(std::endian::native == std::endian::little, "numbers are read in place");

class ByteReader {
 public:
  // `subject` names the file in errors; `bytes` must outlive the reader and the views it gives.
  ByteReader(std::string_view subject, std::span<const std::byte> bytes)
      : subject_(subject), bytes_(bytes) {}

  uint64_t position() const { return at_; }
  uint64_t remaining() const { return bytes_.size() - at_; }

  // The next number. Error(kFormat) naming `what` when the file ends before it.
  template <typename T>
  T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  // The next `count` bytes. Error(kFormat) when fewer remain.
  std::span<const std::byte> take(uint64_t count, std::string_view what) {
    if (count > remaining()) {
      throw Error(ErrorKind::kFormat, std::string(subject_),
                  std::to_string(count) + " bytes of " + std::string(what) + " at byte " +
                      std::to_string(at_),
                  std::to_string(remaining()) + " bytes to the end of the file",
                  "the file is truncated or damaged: get it again");
    }
    const auto part = bytes_.subspan(at_, count);
    at_ += count;
    return part;
  }

  // A string behind its 64-bit length, as a view into the file.
  std::string_view read_string(std::string_view what) {
    const auto length = read<uint64_t>(what);
    const auto part = take(length, what);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::string_view subject_;
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
};

}  // namespace focus
