#include "focus/text/utf8.h"

#include <gtest/gtest.h>

#include <vector>

#include "focus/text/utf8_stream.h"

namespace focus {
namespace {

using namespace std::string_literals;

// What Python's bytes.decode("utf-8", "replace") makes of the bytes; '?' here for U+FFFD.
struct Case {
  std::string bytes, shown;
  size_t invalid_at;
};

const std::vector<Case>& cases() {
  constexpr size_t kFine = std::string::npos;
  static const std::vector<Case> all = {
      {"", "", kFine},
      {"abcdefgh12345678", "abcdefgh12345678", kFine},
      {"\0nul\0"s, "\0nul\0"s, kFine},
      {"\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80", "\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80", kFine},
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF", kFine},
      {"\xF4\x90\x80\x80", "????", 0},               // above U+10FFFF
      {"12345678\x80", "12345678?", 8},              // a continuation byte alone
      {"\xC0\x80", "??", 0},                         // overlong
      {"\xE0\x9F\xBF", "???", 0},                    // overlong
      {"\xED\xA0\x80", "???", 0},                    // a surrogate
      {"a\xE2\x82z", "a?z", 1},                      // a maximal subpart is one sign
      {"a\xF0\x9F\x98z", "a?z", 1},                  //
      {"\xF0\x9F\xE2\x82\xAC", "?\xE2\x82\xAC", 0},  // the next character is not lost
      {"a\xF0\x9F\x98", "a?", 1},                    // cut at the end
      {"\xFE\xFF", "??", 0},
  };
  return all;
}

std::string with_question_marks(std::string text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  for (size_t at; (at = text.find(kReplacement)) != std::string::npos;) {
    text.replace(at, kReplacement.size(), "?");
  }
  return text;
}

TEST(Utf8Test, FindsTheFirstInvalidByte) {
  for (const Case& each : cases()) EXPECT_EQ(find_invalid_utf8(each.bytes), each.invalid_at);
}

TEST(Utf8Test, EveryCodePointGoesThereAndBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(c, text);
    ASSERT_EQ(find_invalid_utf8(text), std::string::npos) << uint32_t{c};
    size_t at = 0;
    ASSERT_EQ(uint32_t{next_code_point(text, at)}, uint32_t{c});
    ASSERT_EQ(at, text.size());
  }
}

TEST(Utf8StreamTest, AnyCutShowsTheSame) {
  for (const Case& each : cases()) {
    for (size_t cut = 0; cut <= each.bytes.size(); ++cut) {
      for (size_t second = cut; second <= each.bytes.size(); ++second) {
        Utf8Stream stream;
        std::string shown = stream.push(each.bytes.substr(0, cut));
        shown += stream.push(each.bytes.substr(cut, second - cut));
        shown += stream.push(each.bytes.substr(second));
        shown += stream.finish();
        EXPECT_EQ(with_question_marks(shown), each.shown) << cut << " " << second;
      }
    }
  }
}

TEST(Utf8StreamTest, HoldsBackOnlyAnUnfinishedCharacter) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.push("\x98"), "");
  EXPECT_EQ(stream.push("\x80z"), "\xF0\x9F\x98\x80z");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push("\xE2"), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push("b"), "b") << "a finished stream starts anew";
}

}  // namespace
}  // namespace focus
