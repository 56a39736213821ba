#include "focus/text/added_tokens.h"

#include <algorithm>

#include "focus/text/unicode_classes.h"
#include "focus/text/utf8.h"

namespace focus {
namespace {

char32_t code_point_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0U) == 0x80U) --at;
  return next_code_point(text, at);
}

bool is_single_word(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && is_word(code_point_before(text, begin))) return false;
  return end == text.size() || !is_word(next_code_point(text, end));
}

// The start of the white space that ends at `end`, but not before `least`.
size_t space_before(std::string_view text, size_t end, size_t least) {
  size_t begin = end;
  while (begin > least) {
    const char32_t code_point = code_point_before(text, begin);
    if (!is_space(code_point)) break;
    do --begin;
    while ((static_cast<uint8_t>(text[begin]) & 0xC0U) == 0x80U);
  }
  return begin;
}

size_t space_behind(std::string_view text, size_t begin) {
  for (size_t at = begin; at < text.size(); begin = at) {
    if (!is_space(next_code_point(text, at))) break;
  }
  return begin;
}

}  // namespace

void AddedTokenFinder::add(std::string_view spelling, const AddedToken* token) {
  if (spelling.empty()) return;
  size_t node = 0;
  for (const char c : spelling) {
    const auto byte = static_cast<uint8_t>(c);
    const auto [edge, is_new] = nodes_[node].next.try_emplace(byte, nodes_.size());
    node = edge->second;
    if (is_new) nodes_.emplace_back();
  }
  nodes_[node].token = token;
  starts_[static_cast<uint8_t>(spelling.front())] = true;
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text, size_t at,
                                               size_t& length) const {
  const AddedToken* best = nullptr;
  size_t node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const auto edge = nodes_[node].next.find(static_cast<uint8_t>(text[i]));
    if (edge == nodes_[node].next.end()) break;
    node = edge->second;
    if (nodes_[node].token != nullptr) {
      best = nodes_[node].token;
      length = i + 1 - at;
    }
  }
  return best;
}

std::vector<AddedTokenPart> AddedTokenFinder::split(std::string_view text,
                                                    bool parse_special) const {
  std::vector<AddedTokenPart> parts;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    const AddedToken* token =
        starts_[static_cast<uint8_t>(text[at])] ? longest_at(text, at, length) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + length;
    at = end;
    if (token->special && !parse_special) continue;
    if (token->single_word && !is_single_word(text, begin, end)) continue;
    if (token->lstrip) begin = std::max(done, space_before(text, begin, std::min(done, begin)));
    if (token->rstrip) end = space_behind(text, end);
    if (done < begin) parts.push_back({text.substr(done, begin - done), nullptr});
    parts.push_back({{}, token});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), nullptr});
  return parts;
}

}  // namespace focus
