// A text whose tokens are coloured by the group that their key belongs to.
#pragma once

#include <string>
#include <vector>

namespace focus {

struct TokenView {
  std::string text;  // the token's bytes; may be part of a character
  int group;         // negative: in no group
};

// The legend of the largest groups and the text. A character split over several tokens is shown by
// the one that completes it.
std::string render_token_page(const std::vector<TokenView>& tokens);

// The colours of the groups that occur, as CSS rules for both schemes.
std::string group_styles(const std::vector<TokenView>& tokens);

}  // namespace focus
