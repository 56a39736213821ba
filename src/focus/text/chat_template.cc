#include "focus/text/chat_template.h"

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/text/unicode_classes.h"
#include "focus/text/utf8.h"

namespace focus {
namespace {

constexpr std::string_view kKnown = "chatml, llama3, llama2, mistral";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What Python's strip takes away: white space, and four separators of ASCII.
bool is_stripped(char32_t c) { return is_space(c) || (c >= 0x1C && c <= 0x1F); }

std::string_view trim(std::string_view text) {
  size_t begin = text.size(), end = text.size();
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if (is_stripped(next_code_point(text, at))) continue;
    if (begin == text.size()) begin = start;
    end = at;
  }
  return text.substr(begin, end - begin);
}

// The text of a Jinja string literal: \n is a line break.
std::string unescape(std::string_view literal) {
  std::string text;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] == '\\' && i + 1 < literal.size()) {
      ++i;
      text += literal[i] == 'n' ? '\n' : literal[i];
    } else {
      text += literal[i];
    }
  }
  return text;
}

// What stands between `opening` and `closing` at its first place where it is literal text; empty
// when there is none.
std::string literal_between(std::string_view jinja, std::string_view opening,
                            std::string_view closing) {
  for (size_t at = jinja.find(opening); at != std::string_view::npos;
       at = jinja.find(opening, at + 1)) {
    const size_t begin = at + opening.size();
    const size_t end = jinja.find(closing, begin);
    if (end == std::string_view::npos) return "";
    const std::string_view inside = jinja.substr(begin, end - begin);
    const bool is_code = contains(inside, "{{") || contains(inside, "}}") ||
                         contains(inside, "{%") || contains(inside, "%}") ||
                         contains(inside, "' +") || contains(inside, "\" +");
    if (!is_code && !inside.empty()) return unescape(inside);
  }
  return "";
}

std::string default_system_of(std::string_view jinja) {
  for (const std::string_view opening : {"<|im_start|>system\n", "<|im_start|>system\\n"}) {
    std::string text = literal_between(jinja, opening, "<|im_end|>");
    if (!text.empty()) return text;
  }
  return "";
}

// Llama 3.1 and later write dates before each system text. Where the template would ask the clock
// it also holds the date to use without one: that one is taken, so that a prompt is reproducible.
std::string preamble_of(std::string_view jinja) {
  const std::string cutoff = literal_between(jinja, "\"Cutting Knowledge Date: ", "\" }}");
  const std::string today = literal_between(jinja, "date_string = \"", "\"");
  if (cutoff.empty() || today.empty()) return "";
  return "Cutting Knowledge Date: " + cutoff + "Today Date: " + today + "\n\n";
}

std::string template_in_json(const std::string& path) {
  const auto root = nlohmann::json::parse(read_file(path), nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    throw Error(ErrorKind::kFormat, path, "a JSON object", "something else");
  }
  const auto found = root.find("chat_template");
  if (found == root.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  // Several by name: the plain conversation is "default".
  if (found->is_array()) {
    for (const auto& each : *found) {
      if (each.is_object() && each.value("name", nlohmann::json()) == "default" &&
          each.value("template", nlohmann::json()).is_string()) {
        return each["template"].get<std::string>();
      }
    }
  }
  throw Error(ErrorKind::kFormat, path + " chat_template", "a string, or a list with a \"default\"",
              found->type_name());
}

std::string template_in_folder(const std::string& folder) {
  const auto file = [&](const char* name) {
    return (std::filesystem::path(folder) / name).string();
  };
  if (std::filesystem::exists(file("chat_template.jinja"))) {
    return read_file(file("chat_template.jinja"));
  }
  if (!std::filesystem::exists(file("tokenizer_config.json"))) return "";
  return template_in_json(file("tokenizer_config.json"));
}

}  // namespace

ChatTemplate ChatTemplate::of(const Checkpoint& checkpoint) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  const GgufFile* gguf = checkpoint.gguf();
  std::string jinja;
  if (gguf == nullptr) {
    jinja = template_in_folder(checkpoint.path());
  } else if (gguf->has(kKey)) {
    jinja = gguf->string(kKey);
  }
  if (jinja.empty()) {
    throw Error(ErrorKind::kNotFound, checkpoint.path(), "a chat template", "none",
                "a base model has no chat format: give plain text");
  }
  const ModelConfig& config = checkpoint.config();
  std::optional<int32_t> eos;
  if (!config.eos.empty()) eos = config.eos.front();
  return from_text(jinja, checkpoint.path(), config.bos, eos);
}

ChatTemplate ChatTemplate::from_text(std::string_view jinja, const std::string& source,
                                     std::optional<int32_t> bos, std::optional<int32_t> eos) {
  ChatTemplate chat;
  chat.source_ = source;
  chat.bos_ = bos;
  chat.eos_ = eos;
  if (contains(jinja, "<|im_start|>") && contains(jinja, "<|im_end|>")) {
    chat.format_ = Format::kChatMl;
    chat.default_system_ = default_system_of(jinja);
  } else if (contains(jinja, "<|start_header_id|>") && contains(jinja, "<|eot_id|>")) {
    chat.format_ = Format::kLlama3;
    chat.system_preamble_ = preamble_of(jinja);
  } else if (contains(jinja, "[INST]") && contains(jinja, "<<SYS>>")) {
    chat.format_ = Format::kLlama2;
  } else if (contains(jinja, "[INST]") && contains(jinja, "[/INST]")) {
    chat.format_ = Format::kMistral;
    chat.spaced_ = contains(jinja, "[INST] ");
  } else {
    throw Error(ErrorKind::kUnsupported, source + " chat template", "one of " + std::string(kKnown),
                in_quotes(jinja.substr(0, 60)));
  }
  return chat;
}

std::string ChatTemplate::name() const {
  switch (format_) {
    case Format::kChatMl:
      return "chatml";
    case Format::kLlama3:
      return "llama3";
    case Format::kLlama2:
      return "llama2";
    case Format::kMistral:
      break;
  }
  return "mistral";
}

// Collects ids. Text that no control token parts is encoded as one piece, as it is where the whole
// prompt is one string.
class ChatTemplate::Prompt {
 public:
  explicit Prompt(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void text(std::string_view more) { text_ += more; }

  void control(int32_t id) {
    flush();
    ids_.push_back(id);
  }

  // A control token of the format, by its spelling.
  void control(std::string_view spelling) {
    const int32_t id = tokenizer_.token_id(spelling);
    if (id < 0) {
      throw Error(ErrorKind::kMismatch, "tokenizer",
                  "the control token " + std::string(spelling) + " of the chat template", "none");
    }
    control(id);
  }

  // A mark that is a control token to some tokenizers of the format and text to others.
  void mark(std::string_view spelling) {
    const int32_t id = tokenizer_.token_id(spelling);
    if (id >= 0 && tokenizer_.is_special(id)) {
      control(id);
    } else {
      text(spelling);
    }
  }

  std::vector<int32_t> finish() {
    flush();
    return std::move(ids_);
  }

 private:
  void flush() {
    const auto more = tokenizer_.encode(text_, false);
    ids_.insert(ids_.end(), more.begin(), more.end());
    text_.clear();
  }

  const Tokenizer& tokenizer_;
  std::string text_;
  std::vector<int32_t> ids_;
};

namespace {

[[noreturn]] void fail_order(const std::string& format, const std::string& found) {
  throw Error(
      ErrorKind::kUsage, "chat messages",
      "a system message at most, then user and assistant in turn, the user last (" + format + ")",
      found);
}

void check_roles(const std::vector<ChatMessage>& messages) {
  if (messages.empty()) throw Error(ErrorKind::kUsage, "chat messages", "at least one", "none");
  for (const ChatMessage& message : messages) {
    if (message.role != "system" && message.role != "user" && message.role != "assistant") {
      throw Error(ErrorKind::kUsage, "chat message", "the role system, user or assistant",
                  in_quotes(message.role));
    }
    if (const size_t at = find_invalid_utf8(message.content); at != std::string_view::npos) {
      throw Error(ErrorKind::kFormat, "chat message of the " + message.role, "valid UTF-8",
                  "other bytes at byte offset " + std::to_string(at));
    }
  }
}

}  // namespace

std::vector<int32_t> ChatTemplate::encode(const Tokenizer& tokenizer,
                                          const std::vector<ChatMessage>& messages) const {
  check_roles(messages);
  Prompt prompt(tokenizer);
  if (format_ == Format::kChatMl || format_ == Format::kLlama3) {
    write_headers(messages, prompt);
  } else {
    write_instructions(messages, prompt);
  }
  return prompt.finish();
}

void ChatTemplate::write_headers(const std::vector<ChatMessage>& messages, Prompt& prompt) const {
  const bool chatml = format_ == Format::kChatMl;
  const auto begin_turn = [&](const std::string& role) {
    if (chatml) {
      prompt.control("<|im_start|>");
      prompt.text(role + "\n");
    } else {
      prompt.control("<|start_header_id|>");
      prompt.text(role);
      prompt.control("<|end_header_id|>");
      prompt.text("\n\n");
    }
  };
  const auto write_turn = [&](const std::string& role, std::string_view content) {
    begin_turn(role);
    if (chatml) {
      prompt.text(content);
      prompt.control("<|im_end|>");
      prompt.text("\n");
    } else {
      if (role == "system") prompt.text(system_preamble_);
      prompt.text(trim(content));
      prompt.control("<|eot_id|>");
    }
  };
  if (!chatml) prompt.control("<|begin_of_text|>");
  if (messages.front().role != "system") {
    if (!default_system_.empty() || !system_preamble_.empty()) {
      write_turn("system", default_system_);
    }
  }
  for (const ChatMessage& message : messages) write_turn(message.role, message.content);
  begin_turn("assistant");
}

void ChatTemplate::write_instructions(const std::vector<ChatMessage>& messages,
                                      Prompt& prompt) const {
  const bool llama2 = format_ == Format::kLlama2;
  if (!bos_ || !eos_) {
    throw Error(ErrorKind::kMismatch, source_, "ids of BOS and EOS for the format " + name(),
                "none in the model's config");
  }
  const bool has_system = messages.front().role == "system";
  const size_t first = has_system ? 1 : 0;
  if ((messages.size() - first) % 2 == 0) fail_order(name(), "no user message at the end");
  for (size_t i = first; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role != ((i - first) % 2 == 0 ? "user" : "assistant")) {
      fail_order(name(), in_quotes(role) + " as message " + std::to_string(i + 1));
    }
  }
  const std::string gap = llama2 || spaced_ ? " " : "";
  // llama2 puts the system text into the first user turn, mistral into the last.
  const size_t with_system = llama2 ? first : messages.size() - 1;
  for (size_t i = first; i < messages.size(); ++i) {
    const std::string& content = messages[i].content;
    const std::string_view shown = llama2 ? trim(content) : std::string_view(content);
    if (messages[i].role == "assistant") {
      if (llama2) prompt.text(" ");
      prompt.text(shown);
      if (llama2) prompt.text(" ");
      prompt.control(*eos_);
      continue;
    }
    if (llama2 || i == first) prompt.control(*bos_);
    prompt.mark("[INST]");
    prompt.text(gap);
    if (has_system && i == with_system) {
      const std::string& system = messages.front().content;
      if (llama2) {
        prompt.text("<<SYS>>\n" + system + "\n<</SYS>>\n\n");
      } else {
        prompt.text(system + "\n\n");
      }
    }
    prompt.text(shown);
    prompt.text(gap);
    prompt.mark("[/INST]");
  }
}

}  // namespace focus
