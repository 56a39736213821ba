// Damaged tokenizer.json files: a focus::Error or a tokenizer that works, and nothing else.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "focus/base/error.h"
#include "focus/text/text_test_data.h"
#include "focus/text/tokenizer_spec.h"

namespace focus {
namespace {

using Json = nlohmann::json;

class TokenizerFuzzTest : public testing::Test {
 protected:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  // Loads it and, when it is taken, uses it.
  void try_file(const std::string& text) {
    const std::string path = folder_.write("tokenizer.json", text);
    try {
      const Tokenizer tokenizer = Tokenizer::from_json(path);
      for (const char* each : {"It's the mill, 1984!\n\n  x", "<|im_end|><tool>\xC3\xA9\xCC\x81"}) {
        tokenizer.decode(tokenizer.encode(each));
        tokenizer.decode(tokenizer.encode(each, false), true);
      }
      ++taken_;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::kNotFound) << error.what();
      ++refused_;
    }
  }

  Json random_value() {
    switch (below(9)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return -1;
      case 3:
        return static_cast<uint64_t>(random_()) << 32;
      case 4:
        return 1e300;
      case 5:
        return std::string(below(40), '[');
      case 6:
        return Json::array({Json::object(), "x", 1});
      case 7:
        return {{"type", "Sequence"}, {"normalizers", Json::array()}};
      default:
        return "(?:a*)*\\s+(?!\\S)|[^\\p{L}]?";
    }
  }

  // Replaces, removes or doubles a value somewhere in the tree.
  void damage(Json& node, int depth) {
    if (node.is_structured() && !node.empty() && (depth < 2 || below(4) != 0)) {
      auto child = node.begin();
      std::advance(child, below(std::min<size_t>(node.size(), 40)));
      if (below(8) == 0) {
        node.erase(child);
      } else if (below(8) == 0 && node.is_array()) {
        const Json copy = *child;
        node.push_back(copy);
      } else {
        damage(*child, depth + 1);
      }
    } else {
      node = random_value();
    }
  }

  uint64_t seed_ = std::getenv("FOCUS_FUZZ_SEED") == nullptr
                       ? 20240726
                       : std::strtoull(std::getenv("FOCUS_FUZZ_SEED"), nullptr, 10);
  std::mt19937_64 random_{seed_};
  TestFolder folder_;
  int taken_ = 0, refused_ = 0;
};

TEST_F(TokenizerFuzzTest, DamagedTrees) {
  SCOPED_TRACE("FOCUS_FUZZ_SEED=" + std::to_string(seed_));
  const Json bases[] = {test_data("small_digits.json"), test_data("small_llama3.json")};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (int i = 0; i < 2000 && std::chrono::steady_clock::now() < end; ++i) {
    Json root = bases[i % 2];
    for (size_t n = 1 + below(3); n > 0; --n) damage(root, 0);
    try_file(root.dump());
  }
  EXPECT_GT(taken_, 0);
  EXPECT_GT(refused_, 10);
}

TEST_F(TokenizerFuzzTest, DamagedBytes) {
  SCOPED_TRACE("FOCUS_FUZZ_SEED=" + std::to_string(seed_));
  const std::string bases[] = {test_data("small_digits.json").dump(),
                               test_data("small_llama3.json").dump()};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (int i = 0; i < 2000 && std::chrono::steady_clock::now() < end; ++i) {
    std::string text = bases[i % 2];
    for (size_t n = 1 + below(3); n > 0; --n) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text.resize(at + 1);
          break;
        case 1:
          text.erase(at, below(8));
          break;
        case 2:
          text.insert(at, text, below(text.size()), below(16));
          break;
        default:
          text[at] = static_cast<char>(random_());
      }
    }
    try_file(text);
  }
  EXPECT_GT(refused_, 10);
}

TEST_F(TokenizerFuzzTest, DeepNestingEndsInAnError) {
  try_file(std::string(100'000, '['));
  std::string deep = R"({"model":{"vocab":{},"merges":[]},"normalizer":)";
  for (int i = 0; i < 50'000; ++i) deep += R"({"type":"Sequence","normalizers":[)";
  for (int i = 0; i < 50'000; ++i) deep += "]}";
  try_file(deep + "}");
  EXPECT_EQ(refused_, 2);
}

}  // namespace
}  // namespace focus
