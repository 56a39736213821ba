// UTF-8 at the level of bytes: well-formedness as the Unicode standard's table 3-7 defines it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace focus {

enum class Utf8State {
  kWhole,      // a well-formed character
  kTruncated,  // the text ends inside a character that is well-formed so far
  kInvalid,    // no character starts with these bytes
};

struct Utf8Unit {
  Utf8State state;
  size_t length;  // bytes of the character, or of the maximal subpart where it is not whole; >= 1
};

// The unit that starts at text[at]; at < text.size().
Utf8Unit utf8_unit(std::string_view text, size_t at);

// Offset of the first byte that belongs to no well-formed character; npos when all is well.
size_t find_invalid_utf8(std::string_view text);

// The code point at text[at], which moves past it. The text must be valid.
char32_t next_code_point(std::string_view text, size_t& at);

// code_point: a Unicode scalar value.
void append_utf8(char32_t code_point, std::string& out);

}  // namespace focus
