// The pre-tokenizer patterns of tokenizer.json are written for Oniguruma. PCRE2 reads some of its
// constructs otherwise; this is the translation.
#pragma once

#include <string>
#include <string_view>

namespace focus {

// The same pattern for PCRE2 (with UTF and MULTILINE). Error(kUnsupported) names a construct that
// has no equal there: nested or intersected classes, POSIX classes, named groups, late options.
std::string to_pcre2(std::string_view pattern);

}  // namespace focus
