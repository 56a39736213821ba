// Tokenizer files that must be refused, and the GGUF form.
#include <gtest/gtest.h>

#include <functional>

#include "focus/base/error.h"
#include "focus/formats/test_models.h"
#include "focus/text/text_test_data.h"

namespace focus {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

struct BadFile {
  std::string part;  // of the message
  ErrorKind kind;
  std::function<void(Json&)> damage;
};

Json split(const Json& pattern) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}},
            {{"type", "ByteLevel"}, {"use_regex", false}}}}};
}

TEST(TokenizerFilesTest, DamagedJsonIsNamed) {
  constexpr auto kFormat = ErrorKind::kFormat;
  constexpr auto kUnsupported = ErrorKind::kUnsupported;
  const std::vector<BadFile> table = {
      {"expected an object, found array", kFormat, [](Json& j) { j = Json::array(); }},
      {"model", kFormat, [](Json& j) { j.erase("model"); }},
      {"model", kFormat, [](Json& j) { j["model"] = 3; }},
      {"Unigram", kUnsupported, [](Json& j) { j["model"]["type"] = "Unigram"; }},
      {"model.vocab", kFormat, [](Json& j) { j["model"]["vocab"] = Json::array(); }},
      {"model.vocab", kFormat, [](Json& j) { j["model"]["vocab"]["x9"] = -1; }},
      {"model.vocab", kFormat, [](Json& j) { j["model"]["vocab"]["x9"] = 1.5; }},
      {"model.vocab", kFormat, [](Json& j) { j["model"]["vocab"]["x9"] = 1ULL << 40; }},
      {"model.vocab", kFormat, [](Json& j) { j["model"]["vocab"]["x9"] = ~0ULL; }},
      {"id 65", kFormat, [](Json& j) { j["model"]["vocab"]["x9"] = 65; }},
      {"empty", kFormat, [](Json& j) { j["model"]["vocab"][""] = 700; }},
      {"merges", kFormat, [](Json& j) { j["model"].erase("merges"); }},
      {"merge 0", kFormat, [](Json& j) { j["model"]["merges"][0] = "one"; }},
      {"merge 0", kFormat, [](Json& j) { j["model"]["merges"][0] = "a b c"; }},
      {"merge 2", kFormat, [](Json& j) { j["model"]["merges"][2] = "a \xC3\xBF\xC3\xBF"; }},
      {"model.merges", kFormat, [](Json& j) { j["model"]["merges"][0] = {"a"}; }},
      {"model.merges", kFormat,
       [](Json& j) {
         j["model"]["merges"][0] = {"a", 1};
       }},
      {"ignore_merges", kFormat, [](Json& j) { j["model"]["ignore_merges"] = 1; }},
      {"dropout", kUnsupported, [](Json& j) { j["model"]["dropout"] = 0.1; }},
      {"end_of_word_suffix", kUnsupported,
       [](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }},
      {"byte_fallback", kUnsupported,
       [](Json& j) {
         j["model"]["byte_fallback"] = true;
         j["model"]["vocab"].erase("\xC3\xBF");
       }},
      {"unk_token", kUnsupported,
       [](Json& j) {
         j["model"]["unk_token"] = "<|endoftext|>";
         j["model"]["vocab"].erase("\xC3\xBF");
       }},
      {"added_tokens", kFormat, [](Json& j) { j["added_tokens"] = 1; }},
      {"added_tokens", kFormat, [](Json& j) { j["added_tokens"][0] = 1; }},
      {"added_tokens.content", kFormat, [](Json& j) { j["added_tokens"][0].erase("content"); }},
      {"expected id 0, found 5", kFormat, [](Json& j) { j["added_tokens"][0]["id"] = 5; }},
      {"two of", kFormat, [](Json& j) { j["added_tokens"].push_back(j["added_tokens"][0]); }},
      {"Lowercase", kUnsupported,
       [](Json& j) {
         j["normalizer"] = {{"type", "Lowercase"}};
       }},
      {"normalizer", kFormat, [](Json& j) { j["normalizer"] = "NFC"; }},
      {"none", kUnsupported, [](Json& j) { j["pre_tokenizer"] = nullptr; }},
      {"Metaspace", kUnsupported,
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Metaspace"}};
       }},
      {"Digits", kUnsupported,
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Digits"}};
       }},
      {"nothing behind ByteLevel", kUnsupported,
       [](Json& j) {
         j["pre_tokenizer"]["pretokenizers"].push_back({{"type", "Digits"}});
       }},
      {"a class inside a class", kUnsupported,
       [](Json& j) {
         j["pre_tokenizer"] = split({{"Regex", "[[:alpha:]]"}});
       }},
      {"Split.pattern", kFormat, [](Json& j) { j["pre_tokenizer"] = split("x"); }},
      {"Split.pattern", kUnsupported,
       [](Json& j) {
         j["pre_tokenizer"] = split({{"String", ""}});
       }},
      {"decoder", kUnsupported,
       [](Json& j) {
         j["decoder"] = {{"type", "WordPiece"}};
       }},
  };
  const Json base = test_data("small_digits.json");
  const TestFolder folder;
  for (const BadFile& bad : table) {
    Json root = base;
    bad.damage(root);
    const std::string path = folder.write("tokenizer.json", root.dump());
    try {
      Tokenizer::from_json(path);
      ADD_FAILURE() << "no error for: " << bad.part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), bad.kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(bad.part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("tokenizer.json"), std::string::npos)
          << error.what();
    }
  }
}

TEST(TokenizerFilesTest, OptionsWithoutEffectAreTaken) {
  Json root = test_data("small_digits.json");
  const std::string hash = tokenizer_of(root).hash();
  root["model"]["unk_token"] = "<|endoftext|>";  // every byte is in the vocabulary
  root["model"]["byte_fallback"] = true;
  root["model"]["continuing_subword_prefix"] = "";
  root["model"]["dropout"] = 0.0;
  root["model"].erase("type");
  root["post_processor"] = {{"type", "TemplateProcessing"}};
  EXPECT_EQ(tokenizer_of(root).hash(), hash);
}

TEST(TokenizerFilesTest, BytesWithoutTokenAreLeftOut) {
  Json root = test_data("small_digits.json");
  const auto n = root["model"]["vocab"]["\xC3\xBF"].get<int32_t>();
  root["model"]["vocab"].erase("\xC3\xBF");
  root["model"]["vocab"]["some other token"] = n;
  const Tokenizer tokenizer = tokenizer_of(root);
  // No valid text holds byte 0xFF; the token after it must be untouched.
  EXPECT_EQ(tokenizer.token_bytes(n), "some other token");
  root["model"]["vocab"].erase("~");
  EXPECT_EQ(tokenizer_of(root).decode(tokenizer_of(root).encode("a~b")), "ab");
}

class GgufTokenizerTest : public testing::Test {
 protected:
  // The GGUF form of a tokenizer.json whose ids have no holes.
  GgufBuilder build(const Json& root, const std::string& pre) {
    std::vector<std::string> tokens(root["model"]["vocab"].size());
    std::string types, spelled, merges;
    for (const auto& [token, id] : root["model"]["vocab"].items()) {
      tokens[id.get<size_t>()] = token;
    }
    std::vector<int32_t> kinds(tokens.size(), 1);
    for (const Json& token : root["added_tokens"]) {
      const auto id = token["id"].get<size_t>();
      if (id >= tokens.size()) {
        tokens.resize(id + 1);
        kinds.resize(id + 1, 1);
      }
      tokens[id] = token["content"];
      kinds[id] = token["special"] ? 3 : 4;
    }
    tokens.push_back("[PAD]");
    kinds.push_back(5);
    for (const std::string& token : tokens) spelled += gguf_string(token);
    for (const int32_t kind : kinds) types += raw_bytes(kind);
    for (const Json& merge : root["model"]["merges"]) {
      merges += gguf_string(merge.is_string()
                                ? merge.get<std::string>()
                                : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
    GgufBuilder file;
    file.add_string("general.architecture", "llama");
    file.add_string("tokenizer.ggml.model", "gpt2");
    file.add_string("tokenizer.ggml.pre", pre);
    file.add_array("tokenizer.ggml.tokens", 8, tokens.size(), spelled);
    file.add_array("tokenizer.ggml.token_type", 5, kinds.size(), types);
    file.add_array("tokenizer.ggml.merges", 8, root["model"]["merges"].size(), merges);
    return file;
  }

  Tokenizer open(const GgufBuilder& file) {
    return Tokenizer::from_gguf(GgufFile(folder_.write("model.gguf", file.build())));
  }

  // The message of refusing the file.
  std::string refusal(const GgufBuilder& file, ErrorKind kind) {
    try {
      open(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  TestFolder folder_;
};

TEST_F(GgufTokenizerTest, EqualsTheJsonForm) {
  const std::pair<const char*, const char*> pairs[] = {{"small_digits.json", "smollm"},
                                                       {"small_llama3.json", "llama-bpe"}};
  const auto strings = test_data("golden_ids.json")["strings"].get<std::vector<std::string>>();
  for (const auto& [name, pre] : pairs) {
    Json root = test_data(name);
    root["normalizer"] = nullptr;
    for (Json& token : root["added_tokens"]) {
      token["normalized"] = false;
      token["single_word"] = false;
    }
    const Tokenizer json = tokenizer_of(root), gguf = open(build(root, pre));
    EXPECT_EQ(gguf.hash(), json.hash());
    EXPECT_EQ(gguf.vocab_size(), json.vocab_size() + 1) << "with the padding";
    for (const std::string& text : strings) {
      EXPECT_EQ(gguf.encode(text), json.encode(text)) << text;
      EXPECT_EQ(gguf.encode(text, false), json.encode(text, false)) << text;
    }
    EXPECT_EQ(gguf.token_id("[PAD]"), -1) << "an unused slot is no token";
  }
}

TEST_F(GgufTokenizerTest, PreTokenizersByName) {
  const Json root = test_data("small_digits.json");
  // Each joins digits in its own number; qwen2 also composes characters.
  const auto pieces = [&](const char* pre, const char* text) {
    return open(build(root, pre)).encode(text).size();
  };
  EXPECT_EQ(open(build(root, "gpt-2")).encode("e\xCC\x81"),
            open(build(root, "default")).encode("e\xCC\x81"));
  EXPECT_GT(pieces("gpt-2", "e\xCC\x81"), pieces("qwen2", "e\xCC\x81"));
  EXPECT_EQ(pieces("smollm", " 1984"), pieces("qwen2", " 1984"));
  EXPECT_NE(refusal(build(root, "tekken"), ErrorKind::kUnsupported).find("'tekken'"),
            std::string::npos);
}

TEST_F(GgufTokenizerTest, DamageIsNamed) {
  const Json root = test_data("small_digits.json");
  GgufBuilder spm;
  spm.add_string("tokenizer.ggml.model", "llama");
  EXPECT_NE(refusal(spm, ErrorKind::kUnsupported).find("'llama'"), std::string::npos);
  refusal(GgufBuilder(), ErrorKind::kNotFound);

  const auto with = [](const std::string& tokens, uint64_t n, const std::string& types,
                       uint64_t n_types, const std::string& merge) {
    GgufBuilder file;
    file.add_string("tokenizer.ggml.model", "gpt2");
    file.add_string("tokenizer.ggml.pre", "gpt-2");
    file.add_array("tokenizer.ggml.tokens", 8, n, tokens);
    file.add_array("tokenizer.ggml.token_type", 5, n_types, types);
    file.add_array("tokenizer.ggml.merges", 8, 1, gguf_string(merge));
    return file;
  };
  const std::string three = gguf_string("a") + gguf_string("b") + gguf_string("ab");
  const std::string plain = raw_bytes(1) + raw_bytes(1) + raw_bytes(1);
  EXPECT_EQ(open(with(three, 3, plain, 3, "a b")).encode("ab"), Ids{2});
  refusal(with("", 0, "", 0, "a b"), ErrorKind::kFormat);
  refusal(with(three, 3, raw_bytes(1), 1, "a b"), ErrorKind::kFormat);
  refusal(with(three, 3, plain, 3, "ab"), ErrorKind::kFormat);
  refusal(with(three, 3, plain, 3, "b a"), ErrorKind::kFormat);
  refusal(with(gguf_string("a") + gguf_string("a") + gguf_string("aa"), 3, plain, 3, "a a"),
          ErrorKind::kFormat);
  refusal(with(gguf_string("a") + gguf_string("\xFF") + gguf_string("aa"), 3, plain, 3, "a a"),
          ErrorKind::kFormat);
}

}  // namespace
}  // namespace focus
