#include "focus/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace focus {
namespace {

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

bool in(uint8_t byte, uint8_t low, uint8_t high) { return byte >= low && byte <= high; }

// What a lead byte allows: continuation bytes to follow, and the range of the first of them (which
// keeps out overlong forms, surrogates and everything above U+10FFFF).
struct Lead {
  size_t follow;
  uint8_t low, high;
};

Lead lead_of(uint8_t byte) {
  if (in(byte, 0xC2, 0xDF)) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (in(byte, 0xE1, 0xEF)) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (in(byte, 0xF1, 0xF3)) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Unit utf8_unit(std::string_view text, size_t at) {
  const uint8_t first = byte_at(text, at);
  if (first < 0x80) return {Utf8State::kWhole, 1};
  const Lead lead = lead_of(first);
  if (lead.follow == 0) return {Utf8State::kInvalid, 1};
  for (size_t i = 1; i <= lead.follow; ++i) {
    if (at + i == text.size()) return {Utf8State::kTruncated, i};
    const uint8_t byte = byte_at(text, at + i);
    const bool fits = i == 1 ? in(byte, lead.low, lead.high) : in(byte, 0x80, 0xBF);
    if (!fits) return {Utf8State::kInvalid, i};
  }
  return {Utf8State::kWhole, lead.follow + 1};
}

size_t find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight;
    while (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080ULL) != 0) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const Utf8Unit unit = utf8_unit(text, at);
    if (unit.state != Utf8State::kWhole) return at;
    at += unit.length;
  }
  return std::string_view::npos;
}

char32_t next_code_point(std::string_view text, size_t& at) {
  const uint8_t first = byte_at(text, at++);
  if (first < 0x80) return first;
  const size_t follow = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  char32_t code_point = first & (0x3FU >> follow);
  for (size_t i = 0; i < follow; ++i)
    code_point = (code_point << 6) | (byte_at(text, at++) & 0x3FU);
  return code_point;
}

void append_utf8(char32_t code_point, std::string& out) {
  const auto tail = [&](int shift) {
    out.push_back(static_cast<char>(0x80U | ((code_point >> shift) & 0x3FU)));
  };
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out.push_back(static_cast<char>(0xC0U | (code_point >> 6)));
    tail(0);
  } else if (code_point < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | (code_point >> 12)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0U | (code_point >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace focus
