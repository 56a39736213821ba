// Training and evaluation windows cut from texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "focus/text/tokenizer.h"

namespace focus {

// The tokens of one or more texts, no more of them than a bounded run can use.
class TokenWindows {
 public:
  // Reads each file whole, or, when all together are longer than `max_bytes`, an equal share from
  // its start; what the smaller files leave of theirs goes to the larger ones. bos >= 0 starts
  // every window with that id. Errors: those of read_text, and kMismatch for texts that all have
  // fewer than `tokens` tokens.
  TokenWindows(const std::vector<std::string>& paths, const Tokenizer& tokenizer, int64_t tokens,
               int32_t bos, int64_t max_bytes);

  int64_t tokens() const { return tokens_; }
  // Texts long enough for a window, and the windows side by side that each holds from its start.
  int64_t texts() const { return static_cast<int64_t>(texts_.size()); }
  int64_t count(int64_t text) const { return static_cast<int64_t>(texts_[text].size()) / body_; }
  std::vector<int32_t> side_by_side(int64_t text, int64_t index) const;
  // A window at a random place of a random file, a function of the seed alone.
  std::vector<int32_t> random(uint64_t seed) const;
  // Tokens over all texts read.
  int64_t total() const;

 private:
  std::vector<int32_t> window(const std::vector<int32_t>& text, int64_t first) const;

  int64_t tokens_, body_;  // body_: tokens of a window that come from the text
  int32_t bos_;
  std::vector<std::vector<int32_t>> texts_;  // each at least body_ long
};

// Overwrites tokens [to, to + length) with [from, from + length).
void copy_passage(std::vector<int32_t>& window, int64_t from, int64_t to, int64_t length);
// Puts a repeated passage of 64 to a third of the window at a random place and distance, a function
// of the seed.
void plant_copy(std::vector<int32_t>& window, uint64_t seed);

}  // namespace focus
