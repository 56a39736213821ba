// The prompt formats of chat models: those of the supported families, recognised by the template
// the model carries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "focus/formats/checkpoint.h"
#include "focus/text/tokenizer.h"

namespace focus {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
};

class ChatTemplate {
 public:
  // Reads the model's own template (tokenizer_config.json, chat_template.jinja, GGUF metadata) and
  // recognises its format. Error(kNotFound) when the model has none, Error(kUnsupported) when it is
  // unknown.
  static ChatTemplate of(const Checkpoint& checkpoint);
  // The same from the template's text. source names it in errors; bos and eos are the model's ids
  // (llama2 and mistral write them).
  static ChatTemplate from_text(std::string_view jinja, const std::string& source,
                                std::optional<int32_t> bos, std::optional<int32_t> eos);

  // Ids of the whole prompt up to where the assistant begins. Control tokens written in a message
  // stay text. Exactly one BOS where the format has one (llama2: before each user turn).
  // Errors: kUsage (no messages, an unknown role, an order that the format has no form for),
  // kMismatch (the tokenizer lacks a control token of the format).
  std::vector<int32_t> encode(const Tokenizer& tokenizer,
                              const std::vector<ChatMessage>& messages) const;
  std::string name() const;  // "chatml", "llama3", "mistral", "llama2"

 private:
  enum class Format { kChatMl, kLlama3, kLlama2, kMistral };
  Format format_ = Format::kChatMl;
  std::string default_system_;   // sent when the messages hold no system turn; empty = none
  std::string system_preamble_;  // llama3: what the template writes before each system text
  bool spaced_ = true;           // mistral: "[INST] text [/INST]", not "[INST]text[/INST]"
  std::string source_;
  std::optional<int32_t> bos_, eos_;

  class Prompt;
  void write_headers(const std::vector<ChatMessage>& messages, Prompt& prompt) const;
  void write_instructions(const std::vector<ChatMessage>& messages, Prompt& prompt) const;
};

}  // namespace focus
