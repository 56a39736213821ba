// Byte-level BPE, from tokenizer.json or from GGUF metadata; ids equal those of Hugging Face's
// `tokenizers`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "focus/formats/gguf.h"

namespace focus {

class Tokenizer {
 public:
  // Of a model folder's tokenizer.json. Errors: kNotFound, kFormat, kUnsupported (model,
  // pre-tokenizer, normalizer: named).
  static Tokenizer from_json(const std::string& tokenizer_json_path);
  static Tokenizer from_gguf(const GgufFile& file);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // parse_special: added tokens written out in the text ("<|im_end|>") become their ids; false
  // keeps them as text. No BOS is added here.
  std::vector<int32_t> encode(std::string_view text, bool parse_special = true) const;
  // The exact bytes of the tokens; special tokens are left out when skip_special.
  std::string decode(std::span<const int32_t> ids, bool skip_special = false) const;
  // The bytes of one token (of a byte-level token: the raw bytes, perhaps part of a character).
  std::string token_bytes(int32_t id) const;
  bool is_special(int32_t id) const;
  // Id of an added or plain token by its text; -1 when absent.
  int32_t token_id(std::string_view token) const;
  int64_t vocab_size() const;
  // Hash of vocabulary, merges and added tokens, the same for the JSON and GGUF forms of one
  // tokenizer. Hex, 16 digits.
  std::string hash() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace focus
