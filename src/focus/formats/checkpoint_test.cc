#include "focus/formats/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/base/test_folder.h"
#include "focus/formats/safetensors.h"
#include "focus/formats/tensor_info.h"
#include "focus/formats/test_models.h"

namespace focus {
namespace {

class CheckpointTest : public testing::Test {
 protected:
  std::string folder_of(const TinyModel& model, int shards = 1) {
    std::filesystem::remove_all(folder_.at("hf"));
    model.write_folder(folder_.at("hf"), shards);
    return folder_.at("hf");
  }
  std::string gguf_of(const GgufBuilder& file) { return folder_.write("m.gguf", file.build()); }
  ErrorKind kind_of(const std::string& path, const std::string& part = "") {
    try {
      Checkpoint checkpoint(path);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      return error.kind();
    }
    return ErrorKind::kState;
  }
  static std::vector<float> read(const Checkpoint& checkpoint, const Checkpoint::Weight& weight) {
    std::vector<float> out(static_cast<size_t>(element_count(weight.shape)));
    checkpoint.read_f32(weight.name, out);
    return out;
  }
  static void expect_values(const Checkpoint& checkpoint, const TinyModel& model) {
    ASSERT_EQ(checkpoint.weights().size(), model.values.size());
    for (const Checkpoint::Weight& weight : checkpoint.weights()) {
      EXPECT_EQ(weight.shape, model.shapes.at(weight.name)) << weight.name;
      EXPECT_EQ(read(checkpoint, weight), model.values.at(weight.name)) << weight.name;
    }
  }
  TestFolder folder_;
};

TEST_F(CheckpointTest, EveryFormOfOneModelGivesTheSameWeightsInTheSameOrder) {
  for (const bool tied : {true, false}) {
    const TinyModel model(tied);
    const Checkpoint gguf(gguf_of(model.gguf()));
    std::optional<Checkpoint> folder(folder_of(model));
    EXPECT_NE(gguf.gguf(), nullptr);
    EXPECT_EQ(folder->gguf(), nullptr);
    expect_values(gguf, model);
    expect_values(*folder, model);
    for (size_t i = 0; i < gguf.weights().size(); ++i) {
      EXPECT_EQ(gguf.weights()[i].name, folder->weights()[i].name);
    }
    EXPECT_EQ(gguf.weights().front().name, "model.embed_tokens.weight");
    EXPECT_EQ(gguf.weights().back().name, tied ? "model.norm.weight" : "lm_head.weight");
    for (const ModelConfig* config : {&gguf.config(), &folder->config()}) {
      EXPECT_EQ(config->tied_embeddings, tied);
      EXPECT_EQ(config->norm_epsilon, model.config.norm_epsilon);
      EXPECT_EQ(config->head_dim, model.config.head_dim);
      EXPECT_EQ(config->eos, model.config.eos);
    }
    folder.reset();
    const Checkpoint shards(folder_of(model, 3));
    expect_values(shards, model);
  }
}

TEST_F(CheckpointTest, MovesKeepEverything) {
  const TinyModel model(true);
  Checkpoint first(gguf_of(model.gguf()));
  Checkpoint second(folder_of(model, 2));
  second = std::move(first);
  const Checkpoint third(std::move(second));
  expect_values(third, model);
  EXPECT_EQ(third.path(), folder_.at("m.gguf"));
}

TEST_F(CheckpointTest, HashIsOfTheStoredBytesAndNotOfTheShards) {
  TinyModel model(true);
  const std::string single = Checkpoint(folder_of(model)).sampled_hash();
  EXPECT_EQ(single.size(), 16u);
  EXPECT_EQ(Checkpoint(folder_of(model, 3)).sampled_hash(), single);
  EXPECT_NE(Checkpoint(gguf_of(model.gguf())).sampled_hash(), single);
  for (const char* name : {"model.embed_tokens.weight", "model.layers.1.mlp.down_proj.weight"}) {
    for (float* value : {&model.values[name].front(), &model.values[name].back()}) {
      const float before = *value;
      *value = 99.0F;
      EXPECT_NE(Checkpoint(folder_of(model)).sampled_hash(), single) << name;
      *value = before;
    }
  }
}

TEST_F(CheckpointTest, IndexIsCheckedBeforeAnyWeightIsRead) {
  const TinyModel model(true);
  const std::string path = folder_of(model, 3);
  const std::string index_path = path + "/model.safetensors.index.json";
  const nlohmann::json index = nlohmann::json::parse(read_file(index_path));
  const auto kind_with = [&](const std::string& name, const nlohmann::json& shard,
                             const std::string& part) {
    nlohmann::json changed = index;
    changed["weight_map"][name] = shard;
    write_file_atomically(index_path, changed.dump());
    return kind_of(path, part);
  };
  EXPECT_EQ(kind_with("model.absent.weight", "part-0.safetensors", "'model.absent.weight'"),
            ErrorKind::kMismatch);
  EXPECT_EQ(kind_with("x", "part-9.safetensors", "'part-9.safetensors'"), ErrorKind::kMismatch);
  for (const char* outside : {"../hf/part-0.safetensors", "/etc/passwd", "..", ""}) {
    EXPECT_EQ(kind_with("x", outside, "this folder"), ErrorKind::kFormat) << outside;
  }
  EXPECT_EQ(kind_with("x", 3, "'x'"), ErrorKind::kFormat);
  write_file_atomically(index_path, std::string_view("{}"));
  EXPECT_EQ(kind_of(path, "weight_map"), ErrorKind::kFormat);
  write_file_atomically(index_path, index.dump());
  EXPECT_EQ(kind_of(path), ErrorKind::kState);
  std::filesystem::remove(path + "/part-1.safetensors");
  EXPECT_EQ(kind_of(path, "'part-1.safetensors'"), ErrorKind::kMismatch);
}

TEST_F(CheckpointTest, WeightsMustBeThoseOfTheConfig) {
  TinyModel model(true);
  const std::string name = "model.layers.1.self_attn.k_proj.weight";
  model.shapes[name] = {32, 8};
  EXPECT_EQ(
      kind_of(folder_of(model), "'" + name + "': expected shape [8, 32] (config), found [32, 8]"),
      ErrorKind::kMismatch);
  model = TinyModel(true);
  model.values.erase(name);
  EXPECT_EQ(kind_of(folder_of(model), "'" + name + "'"), ErrorKind::kNotFound);
  model = TinyModel(true);
  const std::string bias = "model.layers.0.self_attn.q_proj.bias";
  model.values[bias] = std::vector<float>(24);
  model.shapes[bias] = {24};
  EXPECT_EQ(kind_of(folder_of(model), "'" + bias + "'"), ErrorKind::kUnsupported);
  model = TinyModel(true);
  const std::string table = "model.layers.0.self_attn.rotary_emb.inv_freq";
  model.values[table] = {1.0F, 0.1F};
  model.shapes[table] = {2};
  EXPECT_EQ(kind_of(folder_of(model)), ErrorKind::kState);
  model = TinyModel(true);
  model.config.layers = 3;
  EXPECT_EQ(kind_of(folder_of(model), "model.layers.2"), ErrorKind::kNotFound);
  model.config.layers = 1;
  EXPECT_EQ(kind_of(folder_of(model), "model.layers.1"), ErrorKind::kUnsupported);
}

TEST_F(CheckpointTest, GgufWeightsMustBeThoseOfTheConfig) {
  const auto kind_with = [&](const std::function<void(GgufBuilder&)>& change,
                             const std::string& part) {
    GgufBuilder file = TinyModel(true).gguf();
    change(file);
    return kind_of(gguf_of(file), part);
  };
  EXPECT_EQ(kind_with(
                [](GgufBuilder& f) {
                  f.tensors[1].dims = {16, 2};
                },
                "found [2, 16]"),
            ErrorKind::kMismatch);
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.tensors[1].name = "blk.0.other"; },
                      "'blk.0.attn_norm.weight'"),
            ErrorKind::kNotFound);
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.add_tensor("rope_freqs.weight", {2}, 0, "12345678"); },
                      "rope scaling"),
            ErrorKind::kUnsupported);
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.add_tensor("blk.0.attn_q.bias", {2}, 0, "12345678"); },
                      "'blk.0.attn_q.bias'"),
            ErrorKind::kUnsupported);
  // I32 takes the bytes of F32.
  EXPECT_EQ(kind_with(
                [](GgufBuilder& f) {
                  for (GgufBuilder::Tensor& tensor : f.tensors) {
                    if (tensor.type == 0) tensor.type = 26;
                  }
                },
                "I32"),
            ErrorKind::kUnsupported);
}

enum class Head { kAbsent, kSame, kDiffers };

TEST_F(CheckpointTest, WhatIsStoredDecidesWhetherTheHeadIsTied) {
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  struct Case {
    const char* flag;
    Head head;
    std::optional<bool> tied;  // nothing: refused
  };
  const Case cases[] = {
      {"true", Head::kAbsent, true},   {"true", Head::kSame, true},
      {"true", Head::kDiffers, false}, {"false", Head::kAbsent, std::nullopt},
      {"false", Head::kSame, false},   {"false", Head::kDiffers, false},
      {"null", Head::kAbsent, true},   {"null", Head::kSame, true},
      {"null", Head::kDiffers, false},
  };
  for (const Case& c : cases) {
    TinyModel model(true);
    if (c.head != Head::kAbsent) {
      model.values[head] = model.values[embedding];
      model.shapes[head] = model.shapes[embedding];
      if (c.head == Head::kDiffers) model.values[head].back() += 1.0F;
    }
    const std::string path = folder_of(model);
    nlohmann::json config = nlohmann::json::parse(model.config_json());
    config["tie_word_embeddings"] = nlohmann::json::parse(c.flag);
    write_file_atomically(path + "/config.json", config.dump());
    if (!c.tied) {
      EXPECT_EQ(kind_of(path, "'lm_head.weight'"), ErrorKind::kNotFound) << c.flag;
      continue;
    }
    const Checkpoint checkpoint(path);
    EXPECT_EQ(checkpoint.config().tied_embeddings, *c.tied) << c.flag << static_cast<int>(c.head);
    EXPECT_EQ(checkpoint.weights().back().name, *c.tied ? "model.norm.weight" : head);
  }
}

TEST_F(CheckpointTest, ReadRefusesUnknownNamesAndWrongRoom) {
  const Checkpoint checkpoint(gguf_of(TinyModel(true).gguf()));
  std::vector<float> out(31);
  const auto kind = [&](const std::string& name) {
    try {
      checkpoint.read_f32(name, out);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kState;
  };
  EXPECT_EQ(kind("model.norm.weight"), ErrorKind::kUsage);
  EXPECT_EQ(kind("output_norm.weight"), ErrorKind::kNotFound);
  out.resize(32);
  EXPECT_EQ(kind("model.norm.weight"), ErrorKind::kState);
}

TEST_F(CheckpointTest, PathsThatAreNoModel) {
  EXPECT_EQ(kind_of(folder_.at("absent"), "absent"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(folder_.path(), "config.json"), ErrorKind::kNotFound);
  folder_.write("config.json", TinyModel(true).config_json());
  EXPECT_EQ(kind_of(folder_.path(), "model.safetensors"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(folder_.write("notes.txt", "text, and enough of it")), ErrorKind::kFormat);
  EXPECT_EQ(kind_of(folder_of(TinyModel(true)) + "/model.safetensors", "folder that holds it"),
            ErrorKind::kUsage);
}

}  // namespace
}  // namespace focus
