// Tokenizers in GGUF metadata: the vocabulary is there, the pre-tokenizer only by name.
#include <array>

#include "focus/base/error.h"
#include "focus/text/tokenizer_spec.h"
#include "focus/text/utf8.h"

namespace focus {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kPre = "tokenizer.ggml.pre";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";

// Values of tokenizer.ggml.token_type (ggml's GGUF specification) that matter here.
constexpr int64_t kControl = 3, kUserDefined = 4, kUnused = 5;

// The patterns that the families' tokenizer.json files carry.
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

PreTokenizer one_pattern(std::string_view pattern) {
  return PreTokenizer({SplitStep{Regex::compile(pattern)}}, -1);
}

void set_pre_tokenizer(const std::string& pre, TokenizerSpec& spec) {
  if (pre == "smollm") {
    spec.pre_tokenizer =
        PreTokenizer({DigitsStep{true}, SplitStep{Regex::compile(kByteLevelPattern)}}, -1);
  } else if (pre == "gpt-2" || pre == "default") {
    spec.pre_tokenizer = one_pattern(kByteLevelPattern);
  } else if (pre == "llama-bpe" || pre == "llama3" || pre == "llama-v3") {
    spec.pre_tokenizer = one_pattern(kLlama3);
    spec.ignore_merges = true;
  } else if (pre == "qwen2") {
    spec.pre_tokenizer = one_pattern(kQwen2);
    spec.normalizer = Normalizer({NormalForm::kNfc});
  } else {
    throw Error(ErrorKind::kUnsupported, spec.source + " " + std::string(kPre),
                "smollm, gpt-2, default, llama-bpe or qwen2", in_quotes(pre),
                "use the model's Hugging Face folder");
  }
}

}  // namespace

TokenizerSpec spec_from_gguf(const GgufFile& file) {
  TokenizerSpec spec;
  spec.source = file.path();
  if (const std::string model = file.string(kModel); model != "gpt2") {
    throw Error(ErrorKind::kUnsupported, spec.source + " " + std::string(kModel),
                "gpt2 (byte-level BPE)", in_quotes(model));
  }
  // Files from before the key was there mean llama.cpp's default.
  set_pre_tokenizer(file.has(kPre) ? file.string(kPre) : "default", spec);

  spec.tokens = file.strings(kTokens);
  if (spec.tokens.empty() || spec.tokens.size() > static_cast<size_t>(kMostTokens)) {
    throw Error(ErrorKind::kFormat, spec.source + " " + std::string(kTokens),
                "1 to " + std::to_string(kMostTokens) + " tokens",
                std::to_string(spec.tokens.size()));
  }
  std::vector<int64_t> types(spec.tokens.size(), 1);
  if (file.has(kTypes)) types = file.integers(kTypes);
  if (types.size() != spec.tokens.size()) {
    throw Error(ErrorKind::kFormat, spec.source + " " + std::string(kTypes),
                std::to_string(spec.tokens.size()) + " types, one a token",
                std::to_string(types.size()));
  }
  for (size_t id = 0; id < types.size(); ++id) {
    std::string& token = spec.tokens[id];
    if (find_invalid_utf8(token) != std::string_view::npos) {
      throw Error(ErrorKind::kFormat, spec.source + " token " + std::to_string(id), "valid UTF-8",
                  "other bytes");
    }
    if (types[id] == kUnused) token.clear();  // padding of the embedding matrix
    if ((types[id] != kControl && types[id] != kUserDefined) || token.empty()) continue;
    AddedToken added;
    added.id = static_cast<int32_t>(id);
    added.content = token;
    added.special = types[id] == kControl;
    spec.added.push_back(std::move(added));
  }
  const StringMap<int32_t> index = index_tokens(spec);
  for (const std::string& line : file.strings(kMerges)) {
    spec.merges.push_back(make_merge(spec, index, spec.merges.size(), line));
  }
  return spec;
}

}  // namespace focus
