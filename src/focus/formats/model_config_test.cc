#include "focus/formats/model_config.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "focus/base/error.h"
#include "focus/base/test_folder.h"
#include "focus/formats/gguf.h"
#include "focus/formats/test_models.h"

namespace focus {
namespace {

using nlohmann::json;

class HfConfigTest : public testing::Test {
 protected:
  // The tiny model's config.json with `patch` merged in; null removes a key.
  HfConfig read(const json& patch) {
    json config = json::parse(TinyModel(true).config_json());
    config.merge_patch(patch);
    folder_.write("config.json", config.dump());
    return read_hf_config(folder_.path());
  }
  ErrorKind kind_of(const json& patch, const std::string& part = "") {
    try {
      read(patch);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      return error.kind();
    }
    return ErrorKind::kState;
  }
  TestFolder folder_;
};

TEST_F(HfConfigTest, ReadsEveryField) {
  const HfConfig hf = read(json::object());
  const ModelConfig &config = hf.config, expected = TinyModel(true).config;
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.hidden, expected.hidden);
  EXPECT_EQ(config.layers, expected.layers);
  EXPECT_EQ(config.heads, expected.heads);
  EXPECT_EQ(config.kv_heads, expected.kv_heads);
  EXPECT_EQ(config.head_dim, expected.head_dim);
  EXPECT_EQ(config.intermediate, expected.intermediate);
  EXPECT_EQ(config.vocab, expected.vocab);
  EXPECT_EQ(config.context, expected.context);
  EXPECT_EQ(config.rope_theta, expected.rope_theta);
  EXPECT_EQ(config.norm_epsilon, expected.norm_epsilon);
  EXPECT_EQ(hf.tied, true);
  EXPECT_EQ(config.bos, 1);
  EXPECT_EQ(config.eos, std::vector<int32_t>{2});
  EXPECT_FALSE(config.add_bos);
}

TEST_F(HfConfigTest, RopeThetaAtTopInParametersInBothInNeither) {
  const auto theta = [&](const json& patch) { return read(patch).config.rope_theta; };
  EXPECT_EQ(theta({{"rope_theta", 20000}}), 20000.0);
  EXPECT_EQ(theta({{"rope_theta", nullptr},
                   {"rope_parameters", {{"rope_theta", 3e4}, {"rope_type", "default"}}}}),
            3e4);
  EXPECT_EQ(theta({{"rope_theta", 20000}, {"rope_parameters", {{"rope_theta", 3e4}}}}), 3e4);
  EXPECT_EQ(theta({{"rope_theta", nullptr}}), 10000.0);
  EXPECT_EQ(theta({{"rope_scaling", {{"type", "default"}}}}), 50000.0);
  EXPECT_EQ(theta({{"rope_scaling", {{"rope_type", "none"}}}}), 50000.0);
}

TEST_F(HfConfigTest, RopeScalingIsRefusedByName) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    for (const char* field : {"type", "rope_type"}) {
      for (const char* kind : {"llama3", "linear", "dynamic", "yarn", "longrope", "newest"}) {
        EXPECT_EQ(kind_of({{key, {{field, kind}, {"factor", 8.0}}}}, std::string("'") + kind + "'"),
                  ErrorKind::kUnsupported);
      }
    }
    EXPECT_EQ(kind_of({{key, {{"factor", 2.0}}}}, "'factor'"), ErrorKind::kUnsupported);
    EXPECT_EQ(kind_of({{key, {{"full_attention", {{"rope_theta", 1e6}}}}}}, "'full_attention'"),
              ErrorKind::kUnsupported);
    EXPECT_EQ(kind_of({{key, "linear"}}), ErrorKind::kFormat);
    EXPECT_EQ(kind_of({{key, {{"rope_type", 3}}}}), ErrorKind::kFormat);
  }
  EXPECT_EQ(kind_of({{"partial_rotary_factor", 0.5}}), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of({{"rope_interleaved", true}}), ErrorKind::kUnsupported);
}

TEST_F(HfConfigTest, OtherKindsOfModelAreRefusedByName) {
  EXPECT_EQ(kind_of({{"model_type", "mamba"}}, "model_type llama, found 'mamba'"),
            ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of({{"model_type", nullptr}}), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of({{"hidden_act", "gelu"}}, "'gelu'"), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of({{"attention_bias", true}}, "attention_bias"), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of({{"mlp_bias", true}}, "mlp_bias"), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of({{"quantization_config", {{"bits", 4}}}}), ErrorKind::kUnsupported);
}

TEST_F(HfConfigTest, DerivesWhatIsAbsent) {
  EXPECT_EQ(read({{"head_dim", nullptr}, {"num_attention_heads", 8}}).config.head_dim, 4);
  EXPECT_EQ(kind_of({{"head_dim", nullptr}}, "32 over 6"), ErrorKind::kFormat);
  EXPECT_EQ(read({{"num_key_value_heads", nullptr}}).config.kv_heads, 6);
  EXPECT_EQ(read({{"tie_word_embeddings", nullptr}}).tied, std::nullopt);
  EXPECT_EQ(read({{"tie_word_embeddings", false}}).tied, false);
  EXPECT_EQ(read({{"bos_token_id", nullptr}}).config.bos, std::nullopt);
  EXPECT_EQ(read({{"torch_dtype", "float16"}, {"dtype", "bfloat16"}}).config.hidden, 32);
}

TEST_F(HfConfigTest, EosOfTheGenerationConfigComesFirst) {
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(read({{"eos_token_id", {3, 4, 3}}}).config.eos, (Ids{3, 4}));
  EXPECT_EQ(read({{"eos_token_id", nullptr}}).config.eos, Ids{});
  folder_.write("generation_config.json", R"({"eos_token_id":[5,6]})");
  EXPECT_EQ(read(json::object()).config.eos, (Ids{5, 6}));
  folder_.write("generation_config.json", R"({"eos_token_id":7})");
  EXPECT_EQ(read(json::object()).config.eos, Ids{7});
  folder_.write("generation_config.json", R"({"temperature":0.5})");
  EXPECT_EQ(read(json::object()).config.eos, Ids{2});
  folder_.write("generation_config.json", R"({"eos_token_id":11})");
  EXPECT_EQ(kind_of(json::object(), "vocabulary size 11"), ErrorKind::kFormat);
}

TEST_F(HfConfigTest, BosBeforeTextComesFromTheTokenizerConfig) {
  folder_.write("tokenizer_config.json", R"({"add_bos_token":true})");
  EXPECT_TRUE(read(json::object()).config.add_bos);
  folder_.write("tokenizer_config.json", R"({"add_bos_token":null})");
  EXPECT_FALSE(read(json::object()).config.add_bos);
}

TEST_F(HfConfigTest, BadValuesNameFileAndKey) {
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "vocab_size"}) {
    EXPECT_EQ(kind_of({{key, nullptr}}, key), ErrorKind::kNotFound);
    EXPECT_EQ(kind_of({{key, "12"}}, key), ErrorKind::kFormat);
    EXPECT_EQ(kind_of({{key, 12.0}}, key), ErrorKind::kFormat);
    for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1} << 42}) {
      EXPECT_EQ(kind_of({{key, value}}, "config.json"), ErrorKind::kFormat) << key << value;
    }
    EXPECT_EQ(kind_of({{key, ~uint64_t{0}}}, key), ErrorKind::kFormat);
  }
  EXPECT_EQ(kind_of({{"num_key_value_heads", 4}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"num_key_value_heads", 12}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"head_dim", 5}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"rope_theta", 0}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"rms_norm_eps", -1e-5}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"eos_token_id", -1}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"eos_token_id", {"a"}}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"bos_token_id", int64_t{1} << 32}}), ErrorKind::kFormat);
  EXPECT_EQ(kind_of({{"tie_word_embeddings", 1}}), ErrorKind::kFormat);
}

TEST_F(HfConfigTest, WhatIsNotAJsonObjectIsAFormatError) {
  for (const char* text : {"", "{", "[]", "3", "{\"a\":1e999}", "{\"a\":\"\xff\"}"}) {
    folder_.write("config.json", text);
    try {
      read_hf_config(folder_.path());
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kFormat) << text;
    }
  }
}

class GgufConfigTest : public testing::Test {
 protected:
  ModelConfig read(const std::function<void(GgufBuilder&)>& change) {
    GgufBuilder file = TinyModel(true).gguf();
    change(file);
    return read_gguf_config(GgufFile(folder_.write("m.gguf", file.build())));
  }
  ErrorKind kind_of(const std::function<void(GgufBuilder&)>& change, const std::string& part = "") {
    try {
      read(change);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      return error.kind();
    }
    return ErrorKind::kState;
  }
  // The builder's metadata with one string replaced by another of the same length.
  static void replace(GgufBuilder& file, std::string_view from, std::string_view to) {
    const size_t at = file.pairs.find(from);
    ASSERT_NE(at, std::string::npos);
    ASSERT_EQ(from.size(), to.size());
    file.pairs.replace(at, from.size(), to);
  }
  TestFolder folder_;
};

TEST_F(GgufConfigTest, OtherKindsOfModelAreRefusedByName) {
  const auto unsupported = ErrorKind::kUnsupported;
  EXPECT_EQ(kind_of([](GgufBuilder& f) { replace(f, gguf_string("llama"), gguf_string("gemma")); },
                    "general.architecture llama, found 'gemma'"),
            unsupported);
  EXPECT_EQ(
      kind_of([](GgufBuilder& f) { f.add_string("llama.rope.scaling.type", "yarn"); }, "'yarn'"),
      unsupported);
  EXPECT_EQ(kind_of([](GgufBuilder& f) { f.add_f32("llama.rope.scaling.factor", 4.0F); }),
            unsupported);
  EXPECT_EQ(kind_of([](GgufBuilder& f) { f.add_u32("split.count", 3); }), unsupported);
  EXPECT_EQ(kind_of([](GgufBuilder& f) { f.add_u32("llama.expert_count", 8); }), unsupported);
  EXPECT_EQ(kind_of([](GgufBuilder& f) { f.add_string("llama.rope.scaling.type", "none"); }),
            ErrorKind::kState);
}

TEST_F(GgufConfigTest, MissingKeysAreNamed) {
  for (const std::string key : {"llama.embedding_length", "llama.block_count",
                                "llama.attention.head_count", "llama.feed_forward_length"}) {
    std::string other = key;
    other.back() = 'X';
    EXPECT_EQ(kind_of([&](GgufBuilder& f) { replace(f, gguf_string(key), gguf_string(other)); },
                      "'" + key + "'"),
              ErrorKind::kNotFound);
  }
}

TEST_F(GgufConfigTest, VocabularyFallsBackToTheEmbedding) {
  EXPECT_EQ(read([](GgufBuilder& f) { replace(f, "llama.vocab_size", "llama.vocab_sizX"); }).vocab,
            11);
}

TEST_F(GgufConfigTest, EndOfTurnIsAnEosAndAddBosIsRead) {
  const ModelConfig config = read([](GgufBuilder& f) {
    f.add_u32("tokenizer.ggml.eot_token_id", 5);
    f.add_bool("tokenizer.ggml.add_bos_token", true);
  });
  EXPECT_EQ(config.eos, (std::vector<int32_t>{2, 5}));
  EXPECT_TRUE(config.add_bos);
  EXPECT_FALSE(read([](GgufBuilder&) {}).add_bos);
}

// 1e-6 as float32 is 9.99999997e-07: both forms of a model must still agree.
TEST_F(GgufConfigTest, RealsAreTheDecimalsThatWereMeant) {
  const ModelConfig config = read([](GgufBuilder&) {});
  EXPECT_EQ(config.norm_epsilon, 1e-6);
  EXPECT_EQ(config.rope_theta, 50000.0);
}

}  // namespace
}  // namespace focus
