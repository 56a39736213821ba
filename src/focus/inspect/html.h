// Text from outside, made safe to stand in a page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace focus {

// Valid in an element and in a double-quoted attribute: & < > " ' become references, invalid UTF-8
// becomes U+FFFD (maximal-subpart rule), control characters become visible (U+2400 block, U+FFFD
// for C1) except newline and tab, which stay, and marks that reorder the line (bidi controls)
// become U+FFFD.
std::string escape_html(std::string_view bytes);

// As escape_html, with a visible sign before each newline and tab. The signs are drawn by the
// page's style, so copied text does not hold them.
std::string escape_html_show_whitespace(std::string_view bytes);

// `prefix` and then the number: names of classes, labels.
std::string numbered(std::string_view prefix, int64_t number);

}  // namespace focus
