#include "focus/nn/routing_record.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "focus/base/error.h"
#include "focus/formats/safetensors.h"

namespace focus {
namespace {

constexpr const char* kHint = "write the file with 'focus eval --record-routing'";
constexpr const char* kFormat = "focus routing 1";
constexpr int64_t kMost = int64_t{1} << 31;

using Metadata = std::map<std::string, std::string>;

std::string tensor_name(int64_t layer, const char* side) {
  return "layers." + std::to_string(layer) + "." + side;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

// The entries of one file's metadata, checked.
class MetadataReader {
 public:
  MetadataReader(std::string path, const Metadata& metadata)
      : path_(std::move(path)), metadata_(metadata) {}

  const std::string& text(const std::string& key) const {
    const auto found = metadata_.find(key);
    if (found == metadata_.end())
      throw Error(ErrorKind::kFormat, path_, "'" + key + "' in the metadata", "none", kHint);
    return found->second;
  }
  int64_t integer(const std::string& key, int64_t low, int64_t high) const {
    const std::string& value = text(key);
    int64_t number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code != std::errc() || end != value.data() + value.size() || number < low ||
        number > high) {
      throw Error(ErrorKind::kFormat, path_,
                  "'" + key + "' in the metadata from " + std::to_string(low) + " to " +
                      std::to_string(high),
                  in_quotes(value), kHint);
    }
    return number;
  }
  std::vector<std::vector<int32_t>> reads(int64_t groups) const {
    const auto json = nlohmann::json::parse(text("reads"), nullptr, false);
    const auto is_count = [&](const nlohmann::json& value) {
      return value.is_number_integer() && value >= 0 && value <= groups;
    };
    const auto is_layer = [&](const nlohmann::json& layer) {
      return layer.is_array() && !layer.empty() && std::ranges::all_of(layer, is_count);
    };
    if (!json.is_array() || json.empty() || !std::ranges::all_of(json, is_layer)) {
      throw Error(ErrorKind::kFormat, path_,
                  "'reads' in the metadata: for each layer a list of numbers from 0 to " +
                      std::to_string(groups),
                  in_quotes(text("reads")), kHint);
    }
    return json;
  }

 private:
  std::string path_;
  const Metadata& metadata_;
};

GroupSets to_sets(const std::string& path, const std::map<std::string, TensorInfo>& tensors,
                  const std::string& name, int64_t tokens, int64_t heads, int64_t groups) {
  const int64_t words = (groups + 63) / 64;
  const auto found = tensors.find(name);
  const bool right = found != tensors.end() && found->second.dtype == DType::kI64 &&
                     found->second.shape.size() == 3 && found->second.shape[0] == tokens &&
                     (found->second.shape[1] == 1 || found->second.shape[1] == heads) &&
                     found->second.shape[2] == words;
  if (!right) {
    throw Error(ErrorKind::kFormat, path,
                "the tensor '" + name + "' of I64 " + shape_text({tokens, heads, words}) +
                    " (or with 1 router)",
                found == tensors.end() ? "none"
                                       : std::string(dtype_name(found->second.dtype)) + ' ' +
                                             shape_text(found->second.shape),
                kHint);
  }
  const TensorInfo& tensor = found->second;
  GroupSets sets(groups, tensor.shape[1]);
  sets.grow(tokens);
  std::memcpy(sets.set(0, 0).data(), tensor.bytes.data(), tensor.bytes.size());
  const uint64_t beyond = groups % 64 == 0 ? 0 : ~uint64_t{0} << (groups % 64);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < sets.heads(); ++h) {
      if ((sets.set(t, h)[words - 1] & beyond) != 0) {
        throw Error(ErrorKind::kFormat, path,
                    "groups below " + std::to_string(groups) + " in '" + name + "'",
                    "a higher one at token " + std::to_string(t), kHint);
      }
    }
  }
  return sets;
}

TensorToWrite to_tensor(const std::string& name, const GroupSets& sets) {
  const auto words = std::span(sets.set(0, 0).data(),
                               static_cast<size_t>(sets.tokens() * sets.heads() * sets.words()));
  return {name, DType::kI64, {sets.tokens(), sets.heads(), sets.words()}, std::as_bytes(words)};
}

}  // namespace

void save_routing_record(const std::string& path, const RecordedRouting& routing) {
  const auto& layers = routing.record.layers;
  const auto fits = [&](const GroupSets& sets, int64_t heads) {
    return sets.tokens() == routing.tokens() && sets.groups() == routing.groups() &&
           (sets.heads() == 1 || sets.heads() == heads);
  };
  if (layers.empty() || routing.tokens() < 1 || routing.reads.size() != layers.size() ||
      routing.rule.limit != Rule::kNoLimit ||
      !std::ranges::all_of(layers, [&](const RoutingRecord::Layer& layer) {
        return fits(layer.queries, routing.heads) && fits(layer.keys, routing.kv_heads);
      })) {
    throw Error(ErrorKind::kUsage, path,
                "decisions of every layer, of the same tokens and groups, and no model limit",
                std::to_string(layers.size()) + " layers that differ");
  }
  std::vector<TensorToWrite> tensors;
  for (int64_t n = 0; n < routing.layers(); ++n) {
    tensors.push_back(to_tensor(tensor_name(n, "queries"), layers[n].queries));
    tensors.push_back(to_tensor(tensor_name(n, "keys"), layers[n].keys));
  }
  write_safetensors(path, tensors,
                    {{"format", kFormat},
                     {"model", routing.model},
                     {"layers", std::to_string(routing.layers())},
                     {"tokens", std::to_string(routing.tokens())},
                     {"groups", std::to_string(routing.groups())},
                     {"heads", std::to_string(routing.heads)},
                     {"kv_heads", std::to_string(routing.kv_heads)},
                     {"head_dim", std::to_string(routing.head_dim)},
                     {"window", std::to_string(routing.rule.window)},
                     {"sinks", std::to_string(routing.rule.sinks)},
                     {"dense_until", std::to_string(routing.rule.dense_until)},
                     {"reads", nlohmann::json(routing.reads).dump()}});
}

RecordedRouting load_routing_record(const std::string& path) {
  const SafetensorsFile file(path);
  const MetadataReader metadata(path, file.metadata());
  if (metadata.text("format") != kFormat) {
    throw Error(ErrorKind::kFormat, path, std::string("the format '") + kFormat + "'",
                in_quotes(metadata.text("format")), kHint);
  }
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  RecordedRouting routing;
  routing.model = metadata.text("model");
  routing.heads = metadata.integer("heads", 1, 4096);
  routing.kv_heads = metadata.integer("kv_heads", 1, routing.heads);
  routing.head_dim = metadata.integer("head_dim", 1, 4096);
  if (routing.heads % routing.kv_heads != 0) {
    throw Error(ErrorKind::kFormat, path, "'heads' a multiple of 'kv_heads'",
                metadata.text("heads") + " and " + metadata.text("kv_heads"), kHint);
  }
  routing.rule = {.window = metadata.integer("window", 0, kAny),
                  .sinks = metadata.integer("sinks", 0, kAny),
                  .dense_until = metadata.integer("dense_until", 0, kAny)};
  const int64_t tokens = metadata.integer("tokens", 1, kMost),
                groups = metadata.integer("groups", 1, 4096),
                layers = metadata.integer("layers", 1, 4096);
  routing.reads = metadata.reads(groups);
  if (static_cast<int64_t>(routing.reads.size()) != layers) {
    throw Error(ErrorKind::kFormat, path, "'reads' of " + std::to_string(layers) + " layers",
                std::to_string(routing.reads.size()), kHint);
  }
  std::map<std::string, TensorInfo> tensors;
  for (const auto& tensor : file.tensors()) tensors.emplace(tensor.name, tensor);
  for (int64_t n = 0; n < layers; ++n) {
    routing.record.layers.push_back(
        {to_sets(path, tensors, tensor_name(n, "queries"), tokens, routing.heads, groups),
         to_sets(path, tensors, tensor_name(n, "keys"), tokens, routing.kv_heads, groups)});
  }
  return routing;
}

}  // namespace focus
