// What a tokenizer is made of, read from either form of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "focus/formats/gguf.h"
#include "focus/text/added_tokens.h"
#include "focus/text/bpe.h"
#include "focus/text/normalizer.h"
#include "focus/text/pre_tokenizer.h"

namespace focus {

struct TokenizerSpec {
  std::string source;               // for messages: the file
  std::vector<std::string> tokens;  // by id, as the file spells them; "" where an id has none
  std::vector<Merge> merges;        // by rank
  std::vector<AddedToken> added;    // by id; their content is in `tokens` too
  bool ignore_merges = false;       // a word that is a token is not merged
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
};

// Ids above this are taken for damage: a vocabulary would not fit in memory.
constexpr int32_t kMostTokens = 1 << 22;

// Errors as Tokenizer::from_json and from_gguf. `text` is the JSON, `source` names it.
TokenizerSpec spec_from_json(const std::string& text, const std::string& source);
TokenizerSpec spec_from_gguf(const GgufFile& file);

// Ids by spelling. Error(kFormat) when two ids are spelled the same.
StringMap<int32_t> index_tokens(const TokenizerSpec& spec);
// The merge of rank `rank` from its two spellings. Error(kFormat) when one of the three tokens is
// not in the vocabulary.
Merge make_merge(const TokenizerSpec& spec, const StringMap<int32_t>& index, size_t rank,
                 const std::string& left, const std::string& right);
// The same from "left right".
Merge make_merge(const TokenizerSpec& spec, const StringMap<int32_t>& index, size_t rank,
                 const std::string& line);

}  // namespace focus
