#include "focus/text/normalizer.h"

#include <gtest/gtest.h>

#include <chrono>

#include "focus/text/utf8.h"

namespace focus {
namespace {

std::string utf8(std::u32string_view code_points) {
  std::string text;
  for (const char32_t c : code_points) append_utf8(c, text);
  return text;
}

// Rows of Unicode's NormalizationTest.txt: source, NFC, NFD, NFKC, NFKD.
TEST(NormalizerTest, RowsOfTheUnicodeStandard) {
  const std::u32string rows[][5] = {
      {U"\u1E0A\u0323", U"\u1E0C\u0307", U"D\u0323\u0307", U"\u1E0C\u0307", U"D\u0323\u0307"},
      {U"\u1E9B\u0323", U"\u1E9B\u0323", U"\u017F\u0323\u0307", U"\u1E69", U"s\u0323\u0307"},
      {U"\uFB01", U"\uFB01", U"\uFB01", U"fi", U"fi"},
      {U"\uAC01", U"\uAC01", U"\u1100\u1161\u11A8", U"\uAC01", U"\u1100\u1161\u11A8"},
      {U"\u1100\u1161\u11A8", U"\uAC01", U"\u1100\u1161\u11A8", U"\uAC01", U"\u1100\u1161\u11A8"},
      {U"\u0958", U"\u0915\u093C", U"\u0915\u093C", U"\u0915\u093C", U"\u0915\u093C"},
      {U"a\u0315\u0300\u05AE\u0300b", U"\u00E0\u05AE\u0300\u0315b", U"a\u05AE\u0300\u0300\u0315b",
       U"\u00E0\u05AE\u0300\u0315b", U"a\u05AE\u0300\u0300\u0315b"},
  };
  for (const auto& row : rows) {
    const std::string source = utf8(row[0]);
    EXPECT_EQ(normalize(source, NormalForm::kNfc), utf8(row[1]));
    EXPECT_EQ(normalize(source, NormalForm::kNfd), utf8(row[2]));
    EXPECT_EQ(normalize(source, NormalForm::kNfkc), utf8(row[3]));
    EXPECT_EQ(normalize(source, NormalForm::kNfkd), utf8(row[4]));
  }
}

TEST(NormalizerTest, KeepsNulAndTheEnds) {
  const std::string text = utf8(std::u32string(U"\0e\u0301\0\U0010FFFF\uFFFF", 6));
  EXPECT_EQ(normalize(text, NormalForm::kNfc),
            utf8(std::u32string(U"\0\u00E9\0\U0010FFFF\uFFFF", 5)));
  EXPECT_EQ(normalize("", NormalForm::kNfc), "");
}

TEST(NormalizerTest, LongRunsOfMarksAreNotQuadratic) {
  std::string text = "a";
  for (int i = 0; i < 250'000; ++i) text += "\xCC\x81\xCC\xA3";  // classes 230 and 220 in turn
  const auto start = std::chrono::steady_clock::now();
  // The first U+0323 joins the letter: three bytes for three.
  EXPECT_EQ(normalize(text, NormalForm::kNfc).size(), text.size());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace focus
