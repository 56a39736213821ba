#include "focus/text/regex_syntax.h"

#include <array>

#include "focus/base/error.h"
#include "focus/text/unicode_classes.h"

namespace focus {
namespace {

// Character-class members of an escape letter; empty for letters that are not classes.
std::string class_members(char letter) {
  switch (letter) {
    case 's':
    case 'S':
      return letter == 's' ? space_members() : non_space_members();
    case 'd':
    case 'D':
      return property_members("Nd");
    case 'w':
    case 'W':
      return word_members();
    case 'h':
    case 'H':
      return "0-9A-Fa-f";
    default:
      return "";
  }
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char next = pattern_[at_];
      if (next == '\\') {
        escape(false);
      } else if (next == '[') {
        character_class();
      } else if (starts_with("(?")) {
        group();
      } else if (next == '{') {
        interval();
      } else {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view construct) const {
    throw Error(ErrorKind::kUnsupported, "pattern " + in_quotes(pattern_),
                "a regular expression that reads the same here as in its own library",
                std::string(construct) + " at offset " + std::to_string(at_));
  }

  bool starts_with(std::string_view text) const {
    return pattern_.substr(at_, text.size()) == text;
  }

  void copy(size_t n) {
    out_ += pattern_.substr(at_, n);
    at_ += n;
  }

  void members(const std::string& text, bool negated, bool in_class) {
    if (in_class && negated) refuse("a negated class inside a class");
    if (in_class) {
      out_ += text;
    } else {
      out_.append(negated ? "[^" : "[").append(text).append("]");
    }
  }

  void escape(bool in_class) {
    if (at_ + 1 == pattern_.size()) refuse("a backslash at the end");
    const char letter = pattern_[at_ + 1];
    if (letter == 'p' || letter == 'P') return property(letter == 'P', in_class);
    if (const std::string text = class_members(letter); !text.empty()) {
      at_ += 2;
      // \S is written out as its own members, so that it may stand inside a class.
      return members(text, letter == 'D' || letter == 'W' || letter == 'H', in_class);
    }
    if (letter == 'v') {
      at_ += 2;
      out_ += "\\x0B";
      return;
    }
    if (letter == 'u') return code_unit();
    if (!in_class && (letter == 'b' || letter == 'B')) return boundary(letter == 'b');
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    const std::string_view kept = in_class ? "nrtfaex" : "nrtfaexAzZRX";
    if (is_letter && kept.find(letter) == std::string_view::npos) {
      refuse(std::string("\\") + letter);
    }
    copy(2);
  }

  // \uHHHH
  void code_unit() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    if (digits.size() < 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      refuse("\\u without four digits");
    }
    out_ += "\\x{" + std::string(digits) + "}";
    at_ += 6;
  }

  void boundary(bool positive) {
    std::string word = word_members();
    word.insert(0, 1, '[').push_back(']');
    const auto look = [&](std::string_view behind, std::string_view ahead) {
      out_.append(behind).append(word).append(ahead).append(word).append(")");
    };
    out_ += "(?:";
    look("(?<=", positive ? ")(?!" : ")(?=");
    out_ += '|';
    look("(?<!", positive ? ")(?=" : ")(?!");
    out_ += ')';
    at_ += 2;
  }

  // \p{Name}, \p{^Name}, \P{Name}
  void property(bool negated, bool in_class) {
    const size_t end = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || end == std::string_view::npos) {
      refuse("a property without braces");
    }
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    if (name.substr(0, 1) == "^") {
      negated = !negated;
      name.remove_prefix(1);
    }
    const std::string text = property_members(name);
    at_ = end + 1;
    members(text, negated, in_class);
  }

  void character_class() {
    copy(1);
    if (starts_with("^")) copy(1);
    if (starts_with("]")) {
      out_ += '\\';
      copy(1);
    }
    while (at_ < pattern_.size() && pattern_[at_] != ']') {
      if (pattern_[at_] == '[') refuse("a class inside a class");
      if (starts_with("&&")) refuse("an intersection of classes");
      if (pattern_[at_] == '\\') {
        escape(true);
      } else {
        copy(1);
      }
    }
    if (at_ == pattern_.size()) refuse("a class without end");
    copy(1);
  }

  void group() {
    constexpr std::array<std::string_view, 8> kSame = {"(?:",  "(?=",  "(?!",  "(?>",
                                                       "(?<=", "(?<!", "(?i:", "(?-i:"};
    for (const std::string_view opening : kSame) {
      if (starts_with(opening)) return copy(opening.size());
    }
    // Later in a pattern Oniguruma's option also groups the alternatives that follow it.
    if (at_ == 0 && starts_with("(?i)")) return copy(4);
    refuse(in_quotes(pattern_.substr(at_, 4)));
  }

  // {n}, {n,}, {,m}, {n,m}: a '+' after it repeats the whole there, and is possessive in PCRE2.
  void interval() {
    const size_t end = pattern_.find_first_not_of("0123456789,", at_ + 1);
    if (end == std::string_view::npos || pattern_[end] != '}' || end == at_ + 1) return copy(1);
    if (pattern_.substr(end + 1, 1) == "+") refuse("an interval followed by \"+\"");
    if (starts_with("{,")) {
      out_ += "{0";
      ++at_;
    }
    copy(end + 1 - at_);
  }

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string to_pcre2(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace focus
