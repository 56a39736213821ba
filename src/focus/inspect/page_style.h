// The page's style sheet and its script.
#pragma once

#include <string>
#include <string_view>

namespace focus {

// Everything but the groups' colours (token_page.h). Light and dark follow the reader's setting.
std::string page_style();

// A click on a token or on a legend entry leaves only that group coloured and names it; a second
// click undoes it. The page reads without it.
std::string_view page_script();

}  // namespace focus
