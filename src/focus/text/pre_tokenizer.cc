#include "focus/text/pre_tokenizer.h"

#include <algorithm>

#include "focus/text/unicode_classes.h"
#include "focus/text/utf8.h"

namespace focus {

const std::string_view kByteLevelPattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

struct Part {
  TextSpan span;
  bool is_match;
};

// The text as matches and what is between them, without gaps.
std::vector<Part> cover(const std::vector<TextSpan>& matches, size_t size, bool invert) {
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  size_t at = 0;
  for (const TextSpan& match : matches) {
    if (at < match.begin) parts.push_back({{at, match.begin}, invert});
    parts.push_back({match, !invert});
    at = match.end;
  }
  if (at < size) parts.push_back({{at, size}, invert});
  return parts;
}

std::vector<TextSpan> number_spans(std::string_view text) {
  std::vector<TextSpan> spans;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (is_number(next_code_point(text, at))) spans.push_back({begin, at});
  }
  return spans;
}

std::vector<TextSpan> merge_forward(const std::vector<Part>& parts, SplitBehavior behavior) {
  std::vector<TextSpan> out;
  bool previous = false;
  for (const Part& part : parts) {
    const bool joins = behavior == SplitBehavior::kContiguous ? part.is_match == previous
                                                              : part.is_match && !previous;
    if (joins && !out.empty()) {
      out.back().end = part.span.end;
    } else {
      out.push_back(part.span);
    }
    previous = part.is_match;
  }
  return out;
}

std::vector<TextSpan> merge_backward(const std::vector<Part>& parts) {
  std::vector<TextSpan> out;
  bool previous = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->is_match && !previous && !out.empty()) {
      out.back().begin = part->span.begin;
    } else {
      out.push_back(part->span);
    }
    previous = part->is_match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<TextSpan> pieces_of(const std::vector<Part>& parts, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kMergedWithPrevious:
    case SplitBehavior::kContiguous:
      return merge_forward(parts, behavior);
    case SplitBehavior::kMergedWithNext:
      return merge_backward(parts);
    case SplitBehavior::kIsolated:
    case SplitBehavior::kRemoved:
      break;
  }
  std::vector<TextSpan> out;
  out.reserve(parts.size());
  for (const Part& part : parts) {
    if (behavior == SplitBehavior::kIsolated || !part.is_match) out.push_back(part.span);
  }
  return out;
}

std::vector<TextSpan> apply(const SplitStep& step, std::string_view text) {
  std::vector<TextSpan> matches;
  step.pattern.find_all(text, matches);
  return pieces_of(cover(matches, text.size(), step.invert), step.behavior);
}

std::vector<TextSpan> apply(const DigitsStep& step, std::string_view text) {
  const auto behavior = step.individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous;
  return pieces_of(cover(number_spans(text), text.size(), false), behavior);
}

}  // namespace

void PreTokenizer::split(std::string_view text,
                         const std::function<void(std::string_view)>& visit) const {
  if (!text.empty()) run(0, text, visit);
}

void PreTokenizer::run(size_t step, std::string_view piece,
                       const std::function<void(std::string_view)>& visit) const {
  std::string prefixed;
  if (static_cast<int>(step) == prefix_at_ && piece.front() != ' ') {
    prefixed.append(" ").append(piece);
    piece = prefixed;
  }
  if (step == steps_.size()) {
    visit(piece);
    return;
  }
  const auto spans = std::visit([&](const auto& each) { return apply(each, piece); }, steps_[step]);
  for (const TextSpan& span : spans) {
    if (span.begin == span.end) continue;
    run(step + 1, piece.substr(span.begin, span.end - span.begin), visit);
  }
}

}  // namespace focus
