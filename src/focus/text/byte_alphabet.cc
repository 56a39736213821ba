#include "focus/text/byte_alphabet.h"

#include <array>

#include "focus/text/utf8.h"

namespace focus {
namespace {

constexpr bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr int kAlphabetEnd = 0x144;  // 68 bytes are not printable: U+0100 to U+0143

struct Tables {
  std::array<uint16_t, 256> to_char{};
  std::array<int16_t, kAlphabetEnd> to_byte{};
};

constexpr Tables make_tables() {
  Tables tables;
  for (int16_t& byte : tables.to_byte) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = is_printable(byte) ? byte : next++;
    tables.to_char[static_cast<size_t>(byte)] = static_cast<uint16_t>(character);
    tables.to_byte[static_cast<size_t>(character)] = static_cast<int16_t>(byte);
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

char32_t byte_to_char(uint8_t byte) { return kTables.to_char[byte]; }

std::optional<std::string> from_byte_alphabet(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const char32_t character = next_code_point(token, at);
    if (character >= kAlphabetEnd || kTables.to_byte[character] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kTables.to_byte[character]));
  }
  return bytes;
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string token;
  for (const char byte : bytes) append_utf8(byte_to_char(static_cast<uint8_t>(byte)), token);
  return token;
}

}  // namespace focus
