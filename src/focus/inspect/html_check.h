// A small checker for tests: does every tag of a page close, in order?
#pragma once

#include <string>
#include <string_view>

namespace focus {

// "" when the document is well formed: tags nest and close (void elements apart), attributes are
// double-quoted and unique in their tag, ids are unique, no stray '<', '>' or '&' in text, no bare
// control character; else what is wrong and where.
std::string find_html_fault(std::string_view html);

}  // namespace focus
