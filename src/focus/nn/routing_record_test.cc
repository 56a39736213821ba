#include "focus/nn/routing_record.h"

#include <gtest/gtest.h>

#include <map>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/base/test_folder.h"
#include "focus/formats/safetensors.h"

namespace focus {
namespace {

// Two layers of 5 tokens with 4 query heads on 2 KV heads; 70 groups take two words.
RecordedRouting example() {
  RecordedRouting routing;
  routing.model = "tiny";
  routing.heads = 4;
  routing.kv_heads = 2;
  routing.head_dim = 8;
  routing.rule = {.window = 3, .sinks = 1, .dense_until = 2};
  routing.reads = {{1, 2, 0, 3}, {4, 5, 6, 70}};
  for (int64_t n = 0; n < 2; ++n) {
    GroupSets queries(70, 4), keys(70, 2);
    queries.grow(5);
    keys.grow(5);
    for (int64_t t = 0; t < 5; ++t) {
      for (int64_t h = 0; h < 4; ++h) queries.add(t, h, (17 * t + 29 * h + n) % 70);
      keys.add(t, t % 2, 69 - t);
    }
    routing.record.layers.push_back({queries, keys});
  }
  return routing;
}

TEST(RoutingRecord, ComesBackAsItWasSaved) {
  const TestFolder folder;
  const auto saved = example();
  save_routing_record(folder.at("r.safetensors"), saved);
  const auto loaded = load_routing_record(folder.at("r.safetensors"));
  ASSERT_EQ(loaded.layers(), 2);
  for (int64_t n = 0; n < 2; ++n) {
    EXPECT_EQ(loaded.record.layers[n].queries, saved.record.layers[n].queries);
    EXPECT_EQ(loaded.record.layers[n].keys, saved.record.layers[n].keys);
  }
  EXPECT_EQ(loaded.tokens(), 5);
  EXPECT_EQ(loaded.groups(), 70);
  EXPECT_EQ(loaded.model, "tiny");
  EXPECT_EQ(loaded.heads, 4);
  EXPECT_EQ(loaded.kv_heads, 2);
  EXPECT_EQ(loaded.head_dim, 8);
  EXPECT_EQ(loaded.rule.window, 3);
  EXPECT_EQ(loaded.rule.sinks, 1);
  EXPECT_EQ(loaded.rule.dense_until, 2);
  EXPECT_EQ(loaded.reads, saved.reads);
}

TEST(RoutingRecord, RefusesWhatCannotBeReadBack) {
  const TestFolder folder;
  auto ragged = example();
  ragged.record.layers[1].keys.grow(1);
  EXPECT_THROW(save_routing_record(folder.at("r"), ragged), Error);
  EXPECT_THROW(save_routing_record(folder.at("r"), RecordedRouting{}), Error);
}

TEST(RoutingRecord, BadFilesAreRefusedByName) {
  const TestFolder folder;
  const std::string path = folder.at("r.safetensors");
  save_routing_record(path, example());
  const std::string bytes = read_file(path);
  const SafetensorsFile file(path);
  // The file again, with one change.
  const auto changed = [&](const std::function<void(std::vector<TensorToWrite>&,
                                                    std::map<std::string, std::string>&)>& change) {
    std::vector<TensorToWrite> tensors;
    for (const auto& one : file.tensors())
      tensors.push_back({one.name, one.dtype, one.shape, one.bytes});
    auto metadata = file.metadata();
    change(tensors, metadata);
    write_safetensors(folder.at("bad"), tensors, metadata);
    return folder.at("bad");
  };
  const auto expect = [](const std::string& bad, const std::string& word) {
    try {
      load_routing_record(bad);
      ADD_FAILURE() << "no error about " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kFormat) << error.what();
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  const auto with = [&](const std::string& key, const std::string& value) {
    return changed([&](auto&, auto& metadata) { metadata[key] = value; });
  };
  for (const auto& [key, value] : file.metadata()) {
    expect(changed([&](auto&, auto& metadata) { metadata.erase(key); }), "'" + key + "'");
    if (key != "model") expect(with(key, "odd"), key == "format" ? "focus routing" : key);
  }
  expect(with("tokens", "6"), "layers.0.queries");
  expect(with("tokens", "99999999999"), "tokens");
  expect(with("groups", "60"), "reads");
  expect(with("groups", "71000"), "groups");
  expect(with("heads", "3"), "multiple");
  expect(with("layers", "3"), "reads");
  expect(with("reads", "[[1],[71]]"), "reads");
  expect(with("reads", "[[1],[1.5]]"), "reads");
  expect(with("reads", "[[1],2]"), "reads");
  expect(changed([](auto& tensors, auto&) { tensors.pop_back(); }), "layers.1.queries");
  expect(changed([](auto& tensors, auto&) { tensors[0].dtype = DType::kF64; }), "F64");
  expect(changed([](auto& tensors, auto&) { tensors[0].shape = {20}; }), "[20]");
  expect(changed([](auto&, auto& metadata) {
           metadata["groups"] = "66";
           metadata["reads"] = "[[1],[1]]";
         }),
         "groups below 66");
  expect(folder.write("cut", bytes.substr(0, bytes.size() - 1)), "");
  EXPECT_THROW(load_routing_record(folder.at("absent")), Error);
}

}  // namespace
}  // namespace focus
