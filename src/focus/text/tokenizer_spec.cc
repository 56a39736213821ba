#include "focus/text/tokenizer_spec.h"

#include "focus/base/error.h"

namespace focus {

StringMap<int32_t> index_tokens(const TokenizerSpec& spec) {
  StringMap<int32_t> index;
  index.reserve(spec.tokens.size());
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const std::string& token = spec.tokens[id];
    if (token.empty()) continue;
    const auto [known, is_new] = index.emplace(token, static_cast<int32_t>(id));
    if (!is_new) {
      throw Error(ErrorKind::kFormat, spec.source, "one id for each token",
                  in_quotes(token) + " with ids " + std::to_string(known->second) + " and " +
                      std::to_string(id));
    }
  }
  return index;
}

Merge make_merge(const TokenizerSpec& spec, const StringMap<int32_t>& index, size_t rank,
                 const std::string& left, const std::string& right) {
  const auto id_of = [&](const std::string& token) {
    const auto known = index.find(token);
    if (known == index.end()) {
      throw Error(ErrorKind::kFormat, spec.source + " merge " + std::to_string(rank),
                  "tokens of the vocabulary", in_quotes(token));
    }
    return known->second;
  };
  return {id_of(left), id_of(right), id_of(left + right)};
}

Merge make_merge(const TokenizerSpec& spec, const StringMap<int32_t>& index, size_t rank,
                 const std::string& line) {
  const size_t space = line.find(' ');
  if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
    throw Error(ErrorKind::kFormat, spec.source + " merge " + std::to_string(rank),
                "two tokens with one space between", in_quotes(line));
  }
  return make_merge(spec, index, rank, line.substr(0, space), line.substr(space + 1));
}

}  // namespace focus
