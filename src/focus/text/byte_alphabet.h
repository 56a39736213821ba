// GPT-2's byte alphabet: each byte is written as one printable character, so that a vocabulary of
// raw bytes can be kept as text (Radford et al. 2019, the encoder published with the model).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace focus {

// The character that stands for a byte: itself where printable in Latin-1, else U+0100 and up.
char32_t byte_to_char(uint8_t byte);

// The bytes that a token written in the alphabet stands for; empty optional when a character of it
// is not of the alphabet. The token must be valid UTF-8.
std::optional<std::string> from_byte_alphabet(std::string_view token);

// The opposite: bytes written in the alphabet.
std::string to_byte_alphabet(std::string_view bytes);

}  // namespace focus
