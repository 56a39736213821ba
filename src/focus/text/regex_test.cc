#include "focus/text/regex.h"

#include <gtest/gtest.h>

#include "focus/base/error.h"

namespace focus {
namespace {

std::vector<std::string> matches(const Regex& regex, std::string_view text) {
  std::vector<TextSpan> spans;
  regex.find_all(text, spans);
  std::vector<std::string> out;
  for (const TextSpan& span : spans)
    out.emplace_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

using Words = std::vector<std::string>;

TEST(RegexTest, FindsAllMatchesAndEmptyOnes) {
  EXPECT_EQ(matches(Regex::compile("[ab]+"), "abcab"), (Words{"ab", "ab"}));
  // An empty match is not taken right behind another, and steps over whole characters.
  EXPECT_EQ(matches(Regex::compile("x*"), "xx\xC3\xA9x"), (Words{"xx", "x"}));
  EXPECT_EQ(matches(Regex::compile("x*"), "\xC3\xA9\xC3\xA9"), (Words{"", "", ""}));
  EXPECT_EQ(matches(Regex::compile("a"), ""), Words{});
  EXPECT_EQ(matches(Regex::literal("a.b["), "a.b[axb["), Words{"a.b["});
}

TEST(RegexTest, WhiteSpaceIsUnicodes) {
  // U+180E is white space to PCRE2's \s alone, U+0085 to both.
  EXPECT_EQ(matches(Regex::compile("\\s"), "\xE1\xA0\x8E\xC2\x85"), Words{"\xC2\x85"});
  EXPECT_EQ(matches(Regex::compile("[\\S]"), "\xE1\xA0\x8E\xC2\x85"), Words{"\xE1\xA0\x8E"});
}

TEST(RegexTest, KnowsLettersNewerThanPcre2) {
  EXPECT_EQ(matches(Regex::compile("\\p{L}"), "\xE1\xB2\x89"), Words{"\xE1\xB2\x89"});  // U+1C89
  EXPECT_EQ(matches(Regex::compile("[^\\p{L}]"), "\xE1\xB2\x89"), Words{});
}

TEST(RegexTest, RefusesWhatReadsOtherwise) {
  for (const char* pattern : {"[a[b]]", "[[:alpha:]]", "[a-z&&[aeiou]]", "(?<name>a)", "a(?i)b",
                              "(?m:.)", "a{1,2}+", "\\k<a>", "\\K", "\\pL", "[\\P{L}]", "[\\W]",
                              "[a", "a\\", "\\u12", "(", "a**?)", "\\p{NoSuchProperty}"}) {
    try {
      Regex::compile(pattern);
      ADD_FAILURE() << pattern << " is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << pattern;
      EXPECT_NE(std::string(error.what()).find(pattern), std::string::npos) << error.what();
    }
  }
}

TEST(RegexTest, ExplodingPatternIsAnErrorNotAHang) {
  std::vector<TextSpan> spans;
  try {
    Regex::compile("(?:a|a|aa)+[b-z]").find_all(std::string(200, 'a'), spans);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  }
}

TEST(RegexTest, DeepBacktrackingOutgrowsTheJitStack) {
  const std::string text(3'000'000, 'a');
  std::vector<TextSpan> spans;
  Regex::compile("(?:a|b)+").find_all(text, spans);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].end, text.size());
}

}  // namespace
}  // namespace focus
