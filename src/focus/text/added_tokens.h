// Tokens written out in the text ("<|im_end|>") that are found before any other splitting.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace focus {

struct AddedToken {
  int32_t id = -1;
  std::string content;
  bool special = false;
  bool normalized = false;   // sought in the normalised text, by its normalised content
  bool lstrip = false;       // swallows the white space before it
  bool rstrip = false;       // and behind it
  bool single_word = false;  // only where no word character touches it
};

// A part of the text: an added token, or text (token == nullptr).
struct AddedTokenPart {
  std::string_view text;
  const AddedToken* token;
};

// Finds a set of tokens, leftmost first and longest among those; time is linear in the text times
// the longest token.
class AddedTokenFinder {
 public:
  // Seeks `spelling` and reports `token`, which must outlive this object. The last token of equal
  // spellings wins.
  void add(std::string_view spelling, const AddedToken* token);

  // Parts in order, none of the text parts empty. A special token is passed over (it stays text)
  // unless parse_special.
  std::vector<AddedTokenPart> split(std::string_view text, bool parse_special) const;

 private:
  struct Node {
    std::map<uint8_t, size_t> next;
    const AddedToken* token = nullptr;
  };
  // The longest token at text[at], and its length.
  const AddedToken* longest_at(std::string_view text, size_t at, size_t& length) const;

  std::vector<Node> nodes_{1};
  bool starts_[256] = {};
};

}  // namespace focus
