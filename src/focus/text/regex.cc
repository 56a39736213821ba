#include "focus/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "focus/base/error.h"
#include "focus/text/regex_syntax.h"
#include "focus/text/utf8.h"

namespace focus {
namespace {

template <auto release>
struct Release {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};

// What a match needs beside the pattern. One a thread: PCRE2 writes into it.
struct Scratch {
  static constexpr size_t kJitStackStart = 32 << 10, kJitStackMost = 64 << 20;

  std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>> match{
      pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>> context{
      pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, Release<pcre2_jit_stack_free>> stack{
      pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr)};

  Scratch() {
    if (!match || !context || !stack) throw std::bad_alloc();
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

Scratch& scratch() {
  thread_local Scratch instance;
  return instance;
}

std::string message_of(int code) {
  PCRE2_UCHAR text[160];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

// Steps of backtracking that a match may take: some for each byte, so that the work stays linear.
uint32_t match_limit(size_t bytes) {
  const uint64_t limit = 10'000'000 + uint64_t{64} * bytes;
  return static_cast<uint32_t>(std::min<uint64_t>(limit, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Release<pcre2_code_free>> compiled;
  std::string shown;  // for messages
};

Regex Regex::compile_pcre2(const std::string& pcre2, unsigned options, std::string_view shown) {
  std::unique_ptr<pcre2_compile_context, Release<pcre2_compile_context_free>> context(
      pcre2_compile_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->shown = shown;
  code->compiled.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre2.data()), pcre2.size(),
                                     options | PCRE2_UTF, &error, &offset, context.get()));
  if (!code->compiled) {
    throw Error(ErrorKind::kUnsupported, "pattern " + in_quotes(code->shown),
                "a regular expression that PCRE2 compiles", message_of(error));
  }
  // A pattern that the JIT does not take runs in the interpreter.
  pcre2_jit_compile(code->compiled.get(), PCRE2_JIT_COMPLETE);
  Regex regex;
  regex.code_ = std::move(code);
  return regex;
}

Regex Regex::compile(std::string_view pattern) {
  return compile_pcre2(to_pcre2(pattern), PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                       pattern);
}

Regex Regex::literal(std::string_view text) {
  return compile_pcre2(std::string(text), PCRE2_LITERAL, text);
}

void Regex::find_all(std::string_view text, std::vector<TextSpan>& out) const {
  out.clear();
  Scratch& work = scratch();
  pcre2_set_match_limit(work.context.get(), match_limit(text.size()));
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data() == nullptr ? "" : text.data());
  size_t from = 0;
  while (from <= text.size()) {
    int rc = pcre2_match(code_->compiled.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK,
                         work.match.get(), work.context.get());
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
      rc = pcre2_match(code_->compiled.get(), subject, text.size(), from,
                       PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, work.match.get(), work.context.get());
    }
    if (rc == PCRE2_ERROR_NOMATCH) return;
    if (rc < 0) {
      throw Error(ErrorKind::kUnsupported, "pattern " + in_quotes(code_->shown),
                  "a match in time linear in the text", message_of(rc));
    }
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(work.match.get());
    const TextSpan span{offsets[0], std::max(offsets[0], offsets[1])};
    const bool behind_another =
        span.begin == span.end && !out.empty() && out.back().end == span.end;
    if (!behind_another) {
      out.push_back(span);
      from = span.end;
      if (span.begin < span.end) continue;
    }
    if (from == text.size()) return;
    next_code_point(text, from);
  }
}

}  // namespace focus
