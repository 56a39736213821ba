#include "focus/text/token_windows.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "focus/base/error.h"
#include "focus/base/test_folder.h"

namespace focus {
namespace {

Tokenizer tiny_tokenizer() {
  return Tokenizer::from_json(std::string(FOCUS_SOURCE_DIR) +
                              "/tests/golden/tiny_llama/tokenizer.json");
}

std::string numbers(int count) {
  std::string text;
  for (int n = 0; n < count; ++n) text += std::to_string(n % 10);  // digits are single tokens
  return text;
}

TEST(TokenWindows, CutsWindowsSideBySideAndAtRandom) {
  const TestFolder folder;
  const auto tokenizer = tiny_tokenizer();
  const TokenWindows windows({folder.write("a.txt", numbers(25)), folder.write("b.txt", numbers(7)),
                              folder.write("c.txt", numbers(10))},
                             tokenizer, 10, -1, 1 << 20);
  ASSERT_EQ(windows.texts(), 2) << "b is shorter than a window";
  EXPECT_EQ(windows.count(0), 2);
  EXPECT_EQ(windows.count(1), 1);
  EXPECT_EQ(tokenizer.decode(windows.side_by_side(0, 1)), "0123456789");
  std::set<std::vector<int32_t>> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto window = windows.random(seed);
    ASSERT_EQ(window.size(), 10u);
    EXPECT_EQ(window, windows.random(seed));
    seen.insert(window);
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(TokenWindows, BosTakesTheFirstPlace) {
  const TestFolder folder;
  const TokenWindows windows({folder.write("a.txt", numbers(9))}, tiny_tokenizer(), 10, 1, 1 << 20);
  const auto window = windows.side_by_side(0, 0);
  ASSERT_EQ(window.size(), 10u);
  EXPECT_EQ(window[0], 1);
}

TEST(TokenWindows, ReadsNoMoreThanItsShareOfLongTexts) {
  const TestFolder folder;
  const auto small = folder.write("small.txt", numbers(100)),
             large = folder.write("large.txt", numbers(5000));
  const TokenWindows windows({large, small}, tiny_tokenizer(), 10, -1, 1000);
  EXPECT_EQ(windows.total(), 1000) << "100 of the small text, the rest of the large one";
  EXPECT_EQ(windows.count(0), 90) << "texts keep their order";
}

TEST(TokenWindows, APipeIsRefusedByName) {
  const TestFolder folder;
  const std::string pipe = folder.at("pipe"), small = folder.write("small.txt", numbers(100));
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  try {
    TokenWindows({pipe, small}, tiny_tokenizer(), 10, -1, 1 << 20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
    EXPECT_EQ(error.subject(), pipe);
  }
}

TEST(TokenWindows, TooShortTextIsAnError) {
  const TestFolder folder;
  try {
    TokenWindows({folder.write("a.txt", numbers(9))}, tiny_tokenizer(), 10, -1, 1000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("at least 10 tokens"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("found 9"), std::string::npos) << error.what();
  }
}

TEST(PlantCopy, RepeatsAPassageWithoutOverlap) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<int32_t> window(256 + seed);
    for (size_t t = 0; t < window.size(); ++t) window[t] = static_cast<int32_t>(t);
    plant_copy(window, seed);
    size_t copied = 0;
    for (size_t t = 0; t < window.size(); ++t) {
      if (window[t] == static_cast<int32_t>(t)) continue;
      ++copied;
      ASSERT_LT(window[t], static_cast<int32_t>(t)) << "from earlier text";
      ASSERT_EQ(window[window[t]], window[t]) << "the source is not overwritten";
    }
    EXPECT_GE(copied, 64u);
  }
}

}  // namespace
}  // namespace focus
