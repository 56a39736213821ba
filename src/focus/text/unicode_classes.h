// Character classes as the `tokenizers` library sees them, which knows a newer Unicode than PCRE2
// and utf8proc do, and draws some classes differently.
#pragma once

#include <string>
#include <string_view>

namespace focus {

// White_Space, Digits (general category N) and word characters (of Rust's regex crate).
bool is_space(char32_t code_point);
bool is_number(char32_t code_point);
bool is_word(char32_t code_point);

// Members of a PCRE2 character class (what stands between the brackets):
std::string space_members();      // \s
std::string non_space_members();  // \S
std::string word_members();       // \w as Oniguruma draws it
// \p{name}; name: a general category of one or two letters, or a script.
std::string property_members(std::string_view name);

}  // namespace focus
