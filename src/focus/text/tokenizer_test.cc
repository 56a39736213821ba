#include "focus/text/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "focus/base/error.h"
#include "focus/text/text_test_data.h"

namespace focus {
namespace {

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;

// The tokenizer of a golden case: a base file with a part replaced.
Json root_of(const Json& golden_case) {
  Json root = test_data(golden_case["tokenizer"].get<std::string>() + ".json");
  for (const auto& [key, value] : golden_case["change"].items()) {
    (key == "ignore_merges" ? root["model"] : root)[key] = value;
  }
  return root;
}

// Ids by the `tokenizers` library over every pre-tokenizer, normalizer and added-token option.
TEST(TokenizerTest, IdsEqualTheLibrarys) {
  const Json golden = test_data("golden_ids.json");
  const auto strings = golden["strings"].get<std::vector<std::string>>();
  std::map<std::string, Json> firsts;
  size_t compared = 0;
  for (const Json& each : golden["cases"]) {
    SCOPED_TRACE(each["name"]);
    const Tokenizer tokenizer = tokenizer_of(root_of(each));
    const Json& first = firsts.emplace(each["tokenizer"], each["ids"]).first->second;
    for (size_t i = 0; i < strings.size(); ++i) {
      const std::string key = std::to_string(i);
      const Json& ids = each["ids"].contains(key) ? each["ids"][key] : first[key];
      const Json& plain = each["plain"].contains(key) ? each["plain"][key] : ids;
      EXPECT_EQ(tokenizer.encode(strings[i]), ids.get<Ids>()) << strings[i];
      EXPECT_EQ(tokenizer.encode(strings[i], false), plain.get<Ids>()) << strings[i];
      ++compared;
    }
  }
  EXPECT_GT(compared, 3000U);
}

TEST(TokenizerTest, DecodeGivesTheExactBytes) {
  const auto strings = test_data("golden_ids.json")["strings"].get<std::vector<std::string>>();
  const Tokenizer tokenizer = tokenizer_of(test_data("small_digits.json"));
  for (const std::string& text : strings) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false)), text);
    std::string joined;
    for (const int32_t id : tokenizer.encode(text)) joined += tokenizer.token_bytes(id);
    EXPECT_EQ(joined, text);
  }
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a<|im_end|>b"), true), "ab");
}

TEST(TokenizerTest, ControlTokensInTextStayText) {
  const Tokenizer tokenizer = tokenizer_of(test_data("small_digits.json"));
  const int32_t end = tokenizer.token_id("<|im_end|>");
  ASSERT_GE(end, 0);
  EXPECT_TRUE(tokenizer.is_special(end));
  const Ids parsed = tokenizer.encode("<|im_end|>");
  EXPECT_EQ(parsed, Ids{end});
  for (const int32_t id : tokenizer.encode("x<|im_end|>", false)) {
    EXPECT_FALSE(tokenizer.is_special(id));
  }
  // Even where the vocabulary holds the control token as a word of its own.
  Json root = test_data("small_llama3.json");
  const auto n = static_cast<int32_t>(root["model"]["vocab"].size());
  root["model"]["vocab"]["quit"] = n;
  for (Json& token : root["added_tokens"]) token["id"] = token["id"].get<int32_t>() + 1;
  Json special = root["added_tokens"][0];
  special["content"] = "quit";
  special["id"] = n;
  root["added_tokens"].push_back(special);
  const Tokenizer hostile = tokenizer_of(root);
  EXPECT_EQ(hostile.encode("quit"), Ids{n});
  EXPECT_GT(hostile.encode("quit", false).size(), 1U);
}

TEST(TokenizerTest, IdsOutsideTheVocabularyAreRefused) {
  const Tokenizer tokenizer = tokenizer_of(test_data("small_digits.json"));
  EXPECT_EQ(tokenizer.vocab_size(), 700);
  for (const int32_t id : {-1, 700}) {
    EXPECT_THROW(tokenizer.decode(Ids{id}), Error);
    EXPECT_THROW(tokenizer.token_bytes(id), Error);
    EXPECT_THROW(tokenizer.is_special(id), Error);
  }
  EXPECT_EQ(tokenizer.token_id("no such token"), -1);
}

TEST(TokenizerTest, TextThatIsNotUtf8NamesTheByte) {
  const Tokenizer tokenizer = tokenizer_of(test_data("small_digits.json"));
  try {
    tokenizer.encode("good \xED\xA0\x80");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    EXPECT_NE(std::string(error.what()).find("byte offset 5"), std::string::npos) << error.what();
  }
}

TEST(TokenizerTest, HashSeesEveryPart) {
  const Json base = test_data("small_digits.json");
  const std::string hash = tokenizer_of(base).hash();
  EXPECT_EQ(hash.size(), 16U);
  EXPECT_EQ(tokenizer_of(base).hash(), hash);
  Json pairs = base;  // merges as pairs, as newer releases write them
  for (Json& merge : pairs["model"]["merges"]) {
    const auto line = merge.get<std::string>();
    const size_t space = line.find(' ');
    merge = {line.substr(0, space), line.substr(space + 1)};
  }
  EXPECT_EQ(tokenizer_of(pairs).hash(), hash);
  Json merges = base;
  std::swap(merges["model"]["merges"][0], merges["model"]["merges"][1]);
  EXPECT_NE(tokenizer_of(merges).hash(), hash);
  Json vocab = base;
  std::swap(vocab["model"]["vocab"]["a"], vocab["model"]["vocab"]["b"]);
  EXPECT_NE(tokenizer_of(vocab).hash(), hash);
  Json added = base;
  added["added_tokens"][0]["special"] = false;
  EXPECT_NE(tokenizer_of(added).hash(), hash);
}

TEST(TokenizerTest, MergesOfTokensWithSpacesAsPairs) {
  Json root = test_data("small_digits.json");
  const auto n = root["model"]["vocab"].size();
  for (Json& merge : root["model"]["merges"]) {
    const auto line = merge.get<std::string>();
    merge = {line.substr(0, line.find(' ')), line.substr(line.find(' ') + 1)};
  }
  root["model"]["vocab"]["x y"] = n;
  root["model"]["vocab"]["x yz"] = n + 1;
  root["model"]["merges"].push_back({"x y", "z"});
  const Tokenizer tokenizer = tokenizer_of(root);
  EXPECT_EQ(tokenizer.token_id("x yz"), static_cast<int32_t>(n + 1));
  EXPECT_EQ(tokenizer.token_bytes(static_cast<int32_t>(n)), "x y");
}

TEST(TokenizerTest, HostileTextTakesLinearTime) {
  const auto repeat = [](const std::string& unit) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    return text;
  };
  for (const char* name : {"small_digits.json", "small_llama3.json"}) {
    const Tokenizer tokenizer = tokenizer_of(test_data(name));
    for (const char* unit : {"a", " ", "\n ", "1", "<|im_end", "<|im_end|>", "he",
                             "\xCC\x81\xCC\xA3", "\xC2\xA0", "'"}) {
      const std::string text = repeat(unit);
      const auto start = std::chrono::steady_clock::now();
      EXPECT_FALSE(tokenizer.encode(text).empty());
      // Quadratic work would take minutes; the margin is for sanitizers and busy machines.
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << unit;
    }
  }
}

TEST(TokenizerTest, ThreadsMayShareOne) {
  const Tokenizer tokenizer = tokenizer_of(test_data("small_llama3.json"));
  const auto strings = test_data("golden_ids.json")["strings"].get<std::vector<std::string>>();
  std::vector<Ids> alone;
  for (const std::string& text : strings) alone.push_back(tokenizer.encode(text));
  std::vector<int> differing(4);
  std::vector<std::thread> threads;
  for (int& count : differing) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (size_t i = 0; i < strings.size(); ++i) {
          count += tokenizer.encode(strings[i]) != alone[i];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differing, std::vector<int>(4));
}

}  // namespace
}  // namespace focus
