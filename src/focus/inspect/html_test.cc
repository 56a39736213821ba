#include "focus/inspect/html.h"

#include <gtest/gtest.h>

#include "focus/inspect/html_check.h"

namespace focus {
namespace {

using namespace std::string_view_literals;

TEST(Html, EscapesTheFiveSpecials) {
  EXPECT_EQ(escape_html("<b a=\"1\" c='2'>R&D</b>"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;R&amp;D&lt;/b&gt;");
  EXPECT_EQ(escape_html("&amp;"), "&amp;amp;");
  EXPECT_EQ(escape_html(""), "");
}

TEST(Html, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(escape_html("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(escape_html("\xE2\x82"), "\uFFFD");                  // cut short
  EXPECT_EQ(escape_html("\xC0\xAF"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(escape_html("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // surrogate
  EXPECT_EQ(escape_html("\xC3<"), "\uFFFD&lt;");                 // must not swallow the bracket
  EXPECT_EQ(escape_html("naïve 漢 😀"), "naïve 漢 😀");
}

TEST(Html, ControlCharactersBecomeVisible) {
  EXPECT_EQ(escape_html("a\0b\x1B\r\x7F"sv), "a\u2400b\u241B\u240D\u2421");
  EXPECT_EQ(escape_html("\u0085\u009F\u00A0"), "\uFFFD\uFFFD\u00A0");
  EXPECT_EQ(escape_html("a\n\tb"), "a\n\tb");
}

TEST(Html, NothingReordersTheLine) {
  EXPECT_EQ(escape_html("\u202Eabc\u202C \u2066d\u2069"), "\uFFFDabc\uFFFD \uFFFDd\uFFFD");
  EXPECT_EQ(escape_html("\u2029 \u202F \u2065 \u206A"), "\u2029 \u202F \u2065 \u206A");
}

TEST(Html, EveryByteGivesTextThatIsWellFormed) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      const std::string page = "<p title=\"" + escape_html(bytes) + "\">" + escape_html(bytes) +
                               escape_html_show_whitespace(bytes) + "</p>";
      ASSERT_EQ(find_html_fault(page), "") << first << ' ' << second;
    }
  }
}

TEST(Html, ShowsWhitespace) {
  EXPECT_EQ(escape_html_show_whitespace("a\n\n<"),
            "a<i class=\"newline\"></i>\n<i class=\"newline\"></i>\n&lt;");
  EXPECT_EQ(escape_html_show_whitespace("\t "), "<i class=\"tab\"></i>\t ");
}

TEST(HtmlCheck, FindsFaults) {
  EXPECT_EQ(find_html_fault("<!DOCTYPE html><p>a<br>b<i/> &amp;</p>"), "");
  EXPECT_EQ(find_html_fault("<script>if (a < b && c) {}</script>"), "");
  for (const char* bad :
       {"<p>", "</p>", "<p></i></p>", "<p><i></p></i>", "<p>a < b</p>", "<p>a > b</p>",
        "<p>a & b</p>", "<p class=x></p>", "<p class=\"x></p>", "<p a=\"1\" a=\"2\"></p>",
        "<i id=\"x\"></i><i id=\"x\"></i>", "<p title=\"<\"></p>", "<p>\x01</p>", "<script>"}) {
    EXPECT_NE(find_html_fault(bad), "") << bad;
  }
}

}  // namespace
}  // namespace focus
