#include "focus/nn/adapter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/base/test_folder.h"

namespace focus {
namespace {

Adapter example() {
  at::manual_seed(1);
  Adapter adapter;
  adapter.base = {.architecture = "llama",
                  .shape = {.layers = 2, .hidden = 12, .heads = 4, .kv_heads = 2, .head_dim = 3},
                  .vocab = 100,
                  .tokenizer_hash = "t",
                  .weights_hash = "w",
                  .norms = at::rand({3, 12}) + 0.5};
  adapter.spec = {.read = RoutingSpec::Read::kMass, .groups = 5, .rank = 2, .read_mass = 0.25};
  adapter.rule = {.window = 7, .sinks = 3, .dense_until = 9};
  for (int64_t n = 0; n < 2; ++n) {
    const auto side = [](int64_t routers) {
      return RouterWeights{at::randn({routers, 2, 3}), at::randn({routers, 5, 2}),
                           at::randn({routers, 5})};
    };
    adapter.layers.push_back({side(2), side(4), {1, 2, 3, static_cast<int32_t>(n)}});
  }
  adapter.calibration = {{"texts", "a.txt b.txt"}};
  return adapter;
}

void expect_kind(ErrorKind kind, const std::function<void()>& act, const std::string& word) {
  try {
    act();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(Adapter, ComesBackAsItWasSaved) {
  const TestFolder folder;
  const Adapter saved = example();
  save_adapter(folder.at("a"), saved);
  const Adapter loaded = load_adapter(folder.at("a"));
  EXPECT_EQ(loaded.spec.read, RoutingSpec::Read::kMass);
  EXPECT_EQ(loaded.spec.read_mass, 0.25);
  EXPECT_EQ(loaded.rule.dense_until, 9);
  EXPECT_EQ(loaded.base.tokenizer_hash, "t");
  EXPECT_EQ(loaded.calibration, saved.calibration);
  ASSERT_EQ(loaded.layers.size(), 2u);
  for (size_t n = 0; n < 2; ++n) {
    EXPECT_TRUE(at::equal(loaded.layers[n].keys.centroids, saved.layers[n].keys.centroids));
    EXPECT_TRUE(at::equal(loaded.layers[n].queries.projection, saved.layers[n].queries.projection));
    EXPECT_EQ(loaded.layers[n].reads, saved.layers[n].reads);
  }
  const std::string first = read_file(folder.at("a/focus_model.safetensors"));
  save_adapter(folder.at("b"), loaded);
  EXPECT_EQ(read_file(folder.at("b/focus_model.safetensors")), first) << "same adapter, same bytes";
}

TEST(Adapter, DamageIsNamed) {
  const TestFolder folder;
  const std::string at = folder.at("a"), config = at + "/focus_config.json",
                    weights = at + "/focus_model.safetensors";
  save_adapter(at, example());
  const std::string good = read_file(config), tensors = read_file(weights);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write_file_atomically(config, text);
  };
  const auto load = [&] { load_adapter(at); };
  expect_kind(
      ErrorKind::kNotFound, [&] { load_adapter(folder.at("none")); }, "none");
  write_file_atomically(config, good.substr(0, good.size() / 2));
  expect_kind(ErrorKind::kFormat, load, "JSON");
  with("\"window\"", "\"windoww\"");
  expect_kind(ErrorKind::kFormat, load, "window");
  with("\"rank\": 2", "\"rank\": 2, \"surprise\": 1");
  expect_kind(ErrorKind::kFormat, load, "surprise");
  with("\"rank\": 2", "\"rank\": \"two\"");
  expect_kind(ErrorKind::kFormat, load, "rank");
  with("\"a.txt b.txt\"", "7");
  expect_kind(ErrorKind::kFormat, load, "calibration");
  with("\"rank\": 2", "\"rank\": 2.5");
  expect_kind(ErrorKind::kFormat, load, "rank");
  with("\"tied\": false", "\"tied\": 0");
  expect_kind(ErrorKind::kFormat, load, "tied");
  with("\"FOCUS\"", "\"LORA\"");
  expect_kind(ErrorKind::kUnsupported, load, "LORA");
  with("\"qk\"", "\"qkv\"");
  expect_kind(ErrorKind::kFormat, load, "qkv");
  write_file_atomically(config, good);
  Adapter other = example();
  other.layers[0].reads[0] = 4;
  save_adapter(folder.at("b"), other);
  write_file_atomically(weights, read_file(folder.at("b/focus_model.safetensors")));
  expect_kind(ErrorKind::kMismatch, load, "different adapters");
  write_file_atomically(weights, tensors.substr(0, tensors.size() - 10));
  EXPECT_THROW(load(), Error);
}

TEST(Adapter, IsRefusedByAnotherBase) {
  const Adapter adapter = example();
  EXPECT_EQ(check_base(adapter, adapter.base, true), std::nullopt);
  const auto refuse = [&](const std::function<void(BaseIdentity&)>& change,
                          const std::string& word) {
    BaseIdentity base = adapter.base;
    base.norms = base.norms.clone();
    change(base);
    expect_kind(
        ErrorKind::kMismatch, [&] { check_base(adapter, base, false); }, word);
  };
  refuse([](BaseIdentity& base) { base.architecture = "gpt2"; }, "gpt2");
  refuse([](BaseIdentity& base) { base.shape.kv_heads = 4; }, "4/4");
  refuse([](BaseIdentity& base) { base.tokenizer_hash = "u"; }, "u");
  refuse([](BaseIdentity& base) { base.norms[1][3] *= 1.2; }, "norm 1");
  refuse([](BaseIdentity& base) { base.norms[2].fill_(std::numeric_limits<float>::quiet_NaN()); },
         "norm");

  BaseIdentity quantised = adapter.base;
  quantised.norms = adapter.base.norms.to(at::kBFloat16).to(at::kFloat);
  quantised.weights_hash = "other";
  const auto warning = check_base(adapter, quantised, false);
  ASSERT_TRUE(warning.has_value());
  EXPECT_NE(warning->find("other"), std::string::npos);
  expect_kind(
      ErrorKind::kMismatch, [&] { check_base(adapter, quantised, true); }, "--strict-base");
}

}  // namespace
}  // namespace focus
