// Cuts text into the words that BPE works on, as the pre-tokenizers of tokenizer.json do.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "focus/text/regex.h"

namespace focus {

// What becomes of the matches of a split, and of the text between them.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct SplitStep {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // the text between matches counts as the match
};

struct DigitsStep {
  bool individual = false;
};

using PreTokenizerStep = std::variant<SplitStep, DigitsStep>;

// GPT-2's own pattern, which ByteLevel applies when use_regex.
extern const std::string_view kByteLevelPattern;

class PreTokenizer {
 public:
  // steps run in order, each on the pieces of the one before. prefix_space: a piece that comes to
  // step `prefix_at` and does not begin with a space gets one; -1 = never.
  PreTokenizer() = default;
  PreTokenizer(std::vector<PreTokenizerStep> steps, int prefix_at)
      : steps_(std::move(steps)), prefix_at_(prefix_at) {}

  // Calls `visit` on each word of valid UTF-8, in order, none empty. A word lives until its call
  // returns.
  void split(std::string_view text, const std::function<void(std::string_view)>& visit) const;

 private:
  void run(size_t step, std::string_view piece,
           const std::function<void(std::string_view)>& visit) const;

  std::vector<PreTokenizerStep> steps_;
  int prefix_at_ = -1;
};

}  // namespace focus
