// Regular expressions of pre-tokenizers, on PCRE2 with its JIT.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace focus {

struct TextSpan {
  size_t begin, end;  // byte offsets
};

// Safe to use from several threads at once.
class Regex {
 public:
  // pattern: in Oniguruma's syntax. Error(kUnsupported) when it does not compile here.
  static Regex compile(std::string_view pattern);
  // Matches exactly this text, which is not empty.
  static Regex literal(std::string_view text);

  // Replaces `out` by all matches in valid UTF-8, left to right, without overlaps; an empty match
  // counts except right behind another match. Error(kUnsupported) when matching explodes.
  void find_all(std::string_view text, std::vector<TextSpan>& out) const;

 private:
  struct Code;
  static Regex compile_pcre2(const std::string& pcre2, unsigned options, std::string_view shown);

  std::shared_ptr<const Code> code_;
};

}  // namespace focus
