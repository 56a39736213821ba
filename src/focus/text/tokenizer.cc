#include "focus/text/tokenizer.h"

#include <unordered_map>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/base/hash.h"
#include "focus/text/byte_alphabet.h"
#include "focus/text/tokenizer_spec.h"
#include "focus/text/utf8.h"

namespace focus {
namespace {

// Bytes of each token, by id: of an added token its content, of others what the byte alphabet
// spells, or the token as it is where it is not of the alphabet.
std::vector<std::string> make_bytes(const TokenizerSpec& spec) {
  std::vector<std::string> bytes;
  bytes.reserve(spec.tokens.size());
  for (const std::string& token : spec.tokens) {
    bytes.push_back(from_byte_alphabet(token).value_or(token));
  }
  for (const AddedToken& token : spec.added) bytes[static_cast<size_t>(token.id)] = token.content;
  return bytes;
}

Bpe make_bpe(const TokenizerSpec& spec, const StringMap<int32_t>& index) {
  std::array<int32_t, 256> byte_ids{};
  for (size_t byte = 0; byte < byte_ids.size(); ++byte) {
    const auto known = index.find(to_byte_alphabet(std::string(1, static_cast<char>(byte))));
    byte_ids[byte] = known == index.end() ? -1 : known->second;
  }
  StringMap<int32_t> whole_words;
  if (spec.ignore_merges) {
    std::vector<bool> is_added(spec.tokens.size());
    for (const AddedToken& token : spec.added) is_added[static_cast<size_t>(token.id)] = true;
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
      // An added token must not come out of plain text here: it may be a control token.
      if (spec.tokens[id].empty() || is_added[id]) continue;
      if (auto word = from_byte_alphabet(spec.tokens[id])) {
        whole_words.emplace(*std::move(word), static_cast<int32_t>(id));
      }
    }
  }
  return Bpe(byte_ids, spec.merges, std::move(whole_words));
}

std::string make_hash(const TokenizerSpec& spec) {
  Hash64 hash;
  const auto add_text = [&](const std::string& text) {
    hash.add(static_cast<int64_t>(text.size()));
    hash.add(text);
  };
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.tokens[id].empty()) continue;
    hash.add(static_cast<int64_t>(id));
    add_text(spec.tokens[id]);
  }
  hash.add(static_cast<int64_t>(spec.merges.size()));
  for (const Merge& merge : spec.merges) {
    hash.add(int64_t{merge.left});
    hash.add(int64_t{merge.right});
  }
  for (const AddedToken& token : spec.added) {
    hash.add(int64_t{token.id});
    hash.add(int64_t{token.special});
  }
  return hash.hex();
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(TokenizerSpec read)
      : spec(std::move(read)),
        index(index_tokens(spec)),
        bytes(make_bytes(spec)),
        bpe(make_bpe(spec, index)),
        hash(make_hash(spec)) {
    special.resize(spec.tokens.size());
    for (const AddedToken& token : spec.added) {
      special[static_cast<size_t>(token.id)] = token.special;
      if (token.normalized) {
        normalized_finder.add(spec.normalizer.apply(token.content), &token);
      } else {
        finder.add(token.content, &token);
      }
    }
  }

  size_t checked(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= spec.tokens.size()) {
      throw Error(ErrorKind::kUsage, "token " + std::to_string(id),
                  "an id from 0 to " + std::to_string(spec.tokens.size() - 1), std::to_string(id));
    }
    return static_cast<size_t>(id);
  }

  // Text between the added tokens that are sought before normalisation.
  void encode_text(std::string_view text, bool parse_special, Bpe::Cache& cache,
                   std::vector<int32_t>& ids) const {
    std::string normal;
    if (!spec.normalizer.empty()) {
      normal = spec.normalizer.apply(text);
      text = normal;
    }
    for (const AddedTokenPart& part : normalized_finder.split(text, parse_special)) {
      if (part.token != nullptr) {
        ids.push_back(part.token->id);
        continue;
      }
      spec.pre_tokenizer.split(part.text,
                               [&](std::string_view word) { bpe.encode(word, cache, ids); });
    }
  }

  TokenizerSpec spec;
  StringMap<int32_t> index;
  std::vector<std::string> bytes;
  Bpe bpe;
  std::string hash;
  std::vector<bool> special;
  AddedTokenFinder finder, normalized_finder;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::from_json(const std::string& tokenizer_json_path) {
  return Tokenizer(
      std::make_unique<Impl>(spec_from_json(read_file(tokenizer_json_path), tokenizer_json_path)));
}

Tokenizer Tokenizer::from_gguf(const GgufFile& file) {
  return Tokenizer(std::make_unique<Impl>(spec_from_gguf(file)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
  if (const size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
    throw Error(ErrorKind::kFormat, "text", "valid UTF-8",
                "other bytes at byte offset " + std::to_string(at));
  }
  std::vector<int32_t> ids;
  Bpe::Cache cache;
  for (const AddedTokenPart& part : impl_->finder.split(text, parse_special)) {
    if (part.token != nullptr) {
      ids.push_back(part.token->id);
    } else {
      impl_->encode_text(part.text, parse_special, cache, ids);
    }
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string text;
  for (const int32_t id : ids) {
    const size_t at = impl_->checked(id);
    if (!skip_special || !impl_->special[at]) text += impl_->bytes[at];
  }
  return text;
}

std::string Tokenizer::token_bytes(int32_t id) const { return impl_->bytes[impl_->checked(id)]; }

bool Tokenizer::is_special(int32_t id) const { return impl_->special[impl_->checked(id)]; }

int32_t Tokenizer::token_id(std::string_view token) const {
  const auto known = impl_->index.find(token);
  return known == impl_->index.end() ? -1 : known->second;
}

int64_t Tokenizer::vocab_size() const { return static_cast<int64_t>(impl_->spec.tokens.size()); }

std::string Tokenizer::hash() const { return impl_->hash; }

}  // namespace focus
