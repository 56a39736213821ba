#include "focus/inspect/token_page.h"

#include <gtest/gtest.h>

#include "focus/inspect/html.h"
#include "focus/inspect/html_check.h"

namespace focus {
namespace {

bool has(const std::string& html, std::string_view part) {
  return html.find(part) != std::string::npos;
}

TEST(TokenPage, EachTokenTellsItsGroup) {
  const std::string html = render_token_page({{"In", 3}, {" the", 12}, {"\n", 3}, {"<s>", -1}});
  EXPECT_EQ(find_html_fault(html), "");
  EXPECT_TRUE(has(html, "<span class=\"g3\" data-g=\"3\" title=\"group 3, token 0\">In</span>"));
  EXPECT_TRUE(has(html, "title=\"group 12, token 1\"> the</span>"));
  EXPECT_TRUE(has(html, "title=\"group 3, token 2\"><i class=\"newline\"></i>\n</span>"));
  EXPECT_TRUE(has(html, "class=\"gnone\" data-g=\"-1\" title=\"no group, token 3\">&lt;s&gt;<"));
}

TEST(TokenPage, CharacterSplitOverTokensIsShownOnce) {
  const std::string html = render_token_page({{"\xF0\x9F", 1}, {"\x98", 2}, {"\x80!", 3}});
  EXPECT_EQ(find_html_fault(html), "");
  EXPECT_TRUE(has(html, "title=\"group 1, token 0\"><i class=\"part\"></i></span>"));
  EXPECT_TRUE(has(html, "title=\"group 2, token 1\"><i class=\"part\"></i></span>"));
  EXPECT_TRUE(has(html, "title=\"group 3, token 2\">😀!</span>"));
  EXPECT_FALSE(has(html, "\uFFFD"));
}

TEST(TokenPage, BytesThatNeverBecomeACharacter) {
  const std::string html = render_token_page({{"\xFFz", 1}, {"\xE2\x82", 2}});
  EXPECT_TRUE(has(html, "token 0\">\uFFFDz</span>"));
  EXPECT_TRUE(has(html, "token 1\">\uFFFD</span>"));
}

TEST(TokenPage, LegendListsTheLargestGroupsFirst) {
  std::vector<TokenView> tokens;
  for (int group = 0; group < 20; ++group) {
    for (int i = 0; i <= group; ++i) tokens.push_back({numbered("w", i % 8), group});
  }
  tokens.push_back({" ", 19});
  const std::string html = render_token_page(tokens);
  const std::string legend = html.substr(0, html.find("</table>"));
  EXPECT_TRUE(has(legend, "The largest 12 groups of 20 on this page"));
  EXPECT_TRUE(has(legend, "data-g=\"19\">19</span></th><td>21</td><td>10.0%</td>"));
  EXPECT_TRUE(has(legend, "data-g=\"8\""));
  EXPECT_FALSE(has(legend, "data-g=\"7\""));
  EXPECT_LT(legend.find("data-g=\"19\""), legend.find("data-g=\"18\""));
  // 21 tokens over w0 to w7: six samples at most, the most frequent first, never the blank one.
  const size_t row = legend.find("<td class=\"samples\">");
  const std::string samples = legend.substr(row, legend.find("</td>", row) - row);
  EXPECT_TRUE(samples.starts_with("<td class=\"samples\"><span class=\"g19\">w0</span>"))
      << samples;
  EXPECT_TRUE(has(samples, "w5"));
  EXPECT_FALSE(has(samples, "w6"));
  EXPECT_FALSE(has(samples, "\"g19\"> <"));
}

TEST(TokenPage, StylesOnlyTheGroupsInUse) {
  const std::string css = group_styles({{"a", 5}, {"b", 200}, {"c", -1}, {"d", 5}});
  EXPECT_TRUE(has(css, ".g5{background:#"));
  EXPECT_TRUE(has(css, ".g200{background:#"));
  EXPECT_FALSE(has(css, ".g0{"));
  EXPECT_FALSE(has(css, ".g-1"));
  EXPECT_NE(css.find(".g5{", css.find("dark")), std::string::npos);
}

}  // namespace
}  // namespace focus
