#include "focus/nn/adapter.h"

#include <ATen/ATen.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/base/hash.h"
#include "focus/formats/safetensors.h"
#include "focus/nn/learned_router.h"

namespace focus {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 1;
const char kConfigName[] = "focus_config.json";
const char kWeightsName[] = "focus_model.safetensors";

std::string layer_name(size_t layer, const char* role) {
  return "layers." + std::to_string(layer) + "." + role;
}

Json to_json(const Adapter& adapter, const std::string& weights_hash) {
  const auto& spec = adapter.spec;
  Json calibration = Json::object();
  for (const auto& [key, value] : adapter.calibration) calibration[key] = value;
  return {{"peft_type", "FOCUS"},
          {"format_version", kFormatVersion},
          {"base",
           {{"architecture", adapter.base.architecture},
            {"layers", adapter.base.shape.layers},
            {"hidden", adapter.base.shape.hidden},
            {"heads", adapter.base.shape.heads},
            {"kv_heads", adapter.base.shape.kv_heads},
            {"head_dim", adapter.base.shape.head_dim},
            {"vocab", adapter.base.vocab},
            {"tokenizer_hash", adapter.base.tokenizer_hash},
            {"weights_hash", adapter.base.weights_hash}}},
          {"routing",
           {{"features", to_string(spec.features)},
            {"heads", to_string(spec.heads)},
            {"tied", spec.tied},
            {"membership", to_string(spec.membership)},
            {"members", spec.members},
            {"read", to_string(spec.read)},
            {"read_mass", spec.read_mass},
            {"balance", to_string(spec.balance)},
            {"balance_rate", spec.balance_rate},
            {"groups", spec.groups},
            {"rank", spec.rank}}},
          {"rule",
           {{"window", adapter.rule.window},
            {"sinks", adapter.rule.sinks},
            {"dense_until", adapter.rule.dense_until}}},
          {"calibration", calibration},
          {"weights", {{"file", kWeightsName}, {"hash", weights_hash}}}};
}

// Takes the keys of one JSON object and, at the end, refuses those that nobody asked for.
class Reader {
 public:
  Reader(std::string path, std::string where, nlohmann::json object)
      : path_(std::move(path)), where_(std::move(where)), object_(std::move(object)) {
    if (!object_.is_object())
      throw Error(ErrorKind::kFormat, path_, "an object at '" + where_ + "'", object_.type_name());
  }
  template <typename T>
  T take(const std::string& key) {
    const auto found = object_.find(key);
    if (found == object_.end())
      throw Error(ErrorKind::kFormat, path_, "the key '" + key + "' in '" + where_ + "'", "none");
    try {
      // nlohmann would turn 2.5 into an integer and true into a number.
      if constexpr (std::is_same_v<T, bool>) {
        if (!found->is_boolean()) throw wrong_type(key, *found);
      } else if constexpr (std::is_integral_v<T>) {
        if (!found->is_number_integer()) throw wrong_type(key, *found);
      }
      T value = found->template get<T>();
      object_.erase(found);
      return value;
    } catch (const nlohmann::json::exception&) {
      throw wrong_type(key, *found);
    }
  }
  Error wrong_type(const std::string& key, const nlohmann::json& found) const {
    return {ErrorKind::kFormat, path_, "another type at '" + where_ + "." + key + "'",
            found.dump()};
  }
  Reader child(const std::string& key) { return {path_, key, take<nlohmann::json>(key)}; }
  void finish() const {
    if (object_.empty()) return;
    throw Error(ErrorKind::kFormat, path_, "only known keys in '" + where_ + "'",
                "'" + object_.begin().key() + "'", "the adapter may come from a newer version");
  }

 private:
  std::string path_, where_;
  nlohmann::json object_;
};

std::string file_hash(const std::string& path) {
  Hash64 hash;
  hash.add(read_file(path));
  return hash.hex();
}

nlohmann::json parse(const std::string& path) {
  try {
    return nlohmann::json::parse(read_file(path));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kFormat, path, "JSON", error.what(),
                "the adapter is damaged: train it again");
  }
}

at::Tensor to_tensor(const TensorInfo& info) {
  const bool integers = info.dtype == DType::kI32;
  auto tensor = at::empty(info.shape, integers ? at::kInt : at::kFloat);
  if (integers) {
    std::memcpy(tensor.data_ptr(), info.bytes.data(), info.bytes.size());
  } else {
    expand_f32(info.dtype, info.bytes,
               {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())});
  }
  return tensor;
}

}  // namespace

BaseIdentity BaseIdentity::of(const Decoder& decoder, const std::string& tokenizer_hash,
                              const std::string& weights_hash) {
  const ModelConfig& config = decoder.config();
  std::vector<at::Tensor> norms;
  for (int64_t n = 0; n < config.layers; ++n) norms.push_back(decoder.attention_norm(n));
  norms.push_back(decoder.final_norm());
  return {.architecture = config.architecture,
          .shape = {config.layers, config.hidden, config.heads, config.kv_heads, config.head_dim},
          .vocab = config.vocab,
          .tokenizer_hash = tokenizer_hash,
          .weights_hash = weights_hash,
          .norms = at::stack(norms)};
}

int64_t Adapter::parameter_count() const {
  int64_t count = 0;
  for (const auto& layer : layers) {
    for (const auto* side : {&layer.keys, &layer.queries}) {
      for (const auto* tensor : {&side->projection, &side->centroids, &side->bias}) {
        if (tensor->defined()) count += tensor->numel();
      }
    }
    count += static_cast<int64_t>(layer.reads.size());
  }
  return count;
}

std::vector<std::vector<int32_t>> Adapter::reads() const {
  std::vector<std::vector<int32_t>> all;
  for (const auto& layer : layers) all.push_back(layer.reads);
  return all;
}

double Adapter::scoring(int64_t tokens) const {
  return scoring_cost(spec, base.shape, reads(), tokens);
}

Mask Adapter::mask(const std::string& name) const {
  return {name, rule, std::make_shared<LearnedRouter>(spec, base.shape, layers)};
}

void save_adapter(const std::string& folder, const Adapter& adapter) {
  std::map<std::string, at::Tensor> tensors{{"base.norms", adapter.base.norms}};
  for (size_t n = 0; n < adapter.layers.size(); ++n) {
    const auto& layer = adapter.layers[n];
    const auto put = [&](const char* role, const at::Tensor& tensor) {
      if (tensor.defined()) tensors[layer_name(n, role)] = tensor.to(at::kFloat).contiguous();
    };
    put("keys.projection", layer.keys.projection);
    put("keys.centroids", layer.keys.centroids);
    put("keys.bias", layer.keys.bias);
    put("queries.projection", layer.queries.projection);
    put("queries.centroids", layer.queries.centroids);
    put("queries.bias", layer.queries.bias);
    tensors[layer_name(n, "reads")] = at::tensor(layer.reads, at::kInt);
  }
  std::vector<TensorToWrite> list;
  for (const auto& [name, tensor] : tensors) {
    list.push_back({name,
                    tensor.scalar_type() == at::kInt ? DType::kI32 : DType::kF32,
                    tensor.sizes().vec(),
                    {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
  }
  ensure_directory(folder);
  const std::string weights = folder + "/" + kWeightsName;
  write_safetensors(weights, list, {{"format", "focus"}});
  write_file_atomically(folder + "/" + kConfigName,
                        to_json(adapter, file_hash(weights)).dump(2) + "\n");
}

Adapter load_adapter(const std::string& folder) {
  const std::string config_path = folder + "/" + kConfigName,
                    weights_path = folder + "/" + kWeightsName;
  Reader top(config_path, "the adapter's config", parse(config_path));
  if (const auto type = top.take<std::string>("peft_type"); type != "FOCUS") {
    throw Error(ErrorKind::kUnsupported, config_path, "peft_type FOCUS", "'" + type + "'");
  }
  if (const int version = top.take<int>("format_version"); version != kFormatVersion) {
    throw Error(ErrorKind::kUnsupported, config_path,
                "format_version " + std::to_string(kFormatVersion), std::to_string(version));
  }
  Adapter adapter;
  auto base = top.child("base");
  adapter.base.architecture = base.take<std::string>("architecture");
  adapter.base.shape = {base.take<int64_t>("layers"), base.take<int64_t>("hidden"),
                        base.take<int64_t>("heads"), base.take<int64_t>("kv_heads"),
                        base.take<int64_t>("head_dim")};
  adapter.base.vocab = base.take<int64_t>("vocab");
  adapter.base.tokenizer_hash = base.take<std::string>("tokenizer_hash");
  adapter.base.weights_hash = base.take<std::string>("weights_hash");
  base.finish();
  auto routing = top.child("routing");
  auto& spec = adapter.spec;
  spec.features = parse_enum<RoutingSpec::Features>(
      config_path, routing.take<std::string>("features"), ErrorKind::kFormat);
  spec.heads = parse_enum<RoutingSpec::Heads>(config_path, routing.take<std::string>("heads"),
                                              ErrorKind::kFormat);
  spec.tied = routing.take<bool>("tied");
  spec.membership = parse_enum<RoutingSpec::Membership>(
      config_path, routing.take<std::string>("membership"), ErrorKind::kFormat);
  spec.members = routing.take<int64_t>("members");
  spec.read = parse_enum<RoutingSpec::Read>(config_path, routing.take<std::string>("read"),
                                            ErrorKind::kFormat);
  spec.read_mass = routing.take<double>("read_mass");
  spec.balance = parse_enum<RoutingSpec::Balance>(config_path, routing.take<std::string>("balance"),
                                                  ErrorKind::kFormat);
  spec.balance_rate = routing.take<double>("balance_rate");
  spec.groups = routing.take<int64_t>("groups");
  spec.rank = routing.take<int64_t>("rank");
  routing.finish();
  auto rule = top.child("rule");
  adapter.rule = {.window = rule.take<int64_t>("window"),
                  .sinks = rule.take<int64_t>("sinks"),
                  .dense_until = rule.take<int64_t>("dense_until")};
  rule.finish();
  const auto calibration = top.take<std::map<std::string, std::string>>("calibration");
  adapter.calibration.assign(calibration.begin(), calibration.end());
  auto weights = top.child("weights");
  weights.take<std::string>("file");
  const auto expected_hash = weights.take<std::string>("hash");
  weights.finish();
  top.finish();

  const SafetensorsFile file(weights_path);
  if (const auto hash = file_hash(weights_path); hash != expected_hash) {
    throw Error(ErrorKind::kMismatch, weights_path,
                "hash " + expected_hash + " (named by " + kConfigName + ")", hash,
                "the two files are of different adapters or damaged: train again or copy both");
  }
  std::map<std::string, at::Tensor> tensors;
  for (const auto& info : file.tensors()) tensors[info.name] = to_tensor(info);
  const auto take = [&](const std::string& name) {
    const auto found = tensors.find(name);
    if (found == tensors.end())
      throw Error(ErrorKind::kFormat, weights_path, "the tensor " + name, "none");
    return found->second;
  };
  adapter.base.norms = take("base.norms");
  for (size_t n = 0; n < static_cast<size_t>(adapter.base.shape.layers); ++n) {
    LayerRouting layer;
    layer.keys = {take(layer_name(n, "keys.projection")), take(layer_name(n, "keys.centroids")),
                  take(layer_name(n, "keys.bias"))};
    if (!spec.tied) {
      layer.queries = {take(layer_name(n, "queries.projection")),
                       take(layer_name(n, "queries.centroids")),
                       take(layer_name(n, "queries.bias"))};
    }
    const auto reads = take(layer_name(n, "reads")).to(at::kInt).contiguous();
    layer.reads.assign(reads.const_data_ptr<int32_t>(),
                       reads.const_data_ptr<int32_t>() + reads.numel());
    adapter.layers.push_back(std::move(layer));
  }
  return adapter;
}

std::optional<std::string> check_base(const Adapter& adapter, const BaseIdentity& base,
                                      bool strict) {
  const auto refuse = [](const std::string& expected, const std::string& found) {
    throw Error(ErrorKind::kMismatch, "adapter", expected, found,
                "use the model that this adapter was trained for");
  };
  const auto& mine = adapter.base;
  if (mine.architecture != base.architecture)
    refuse("a base of architecture " + mine.architecture, base.architecture);
  const auto extents = [](const BaseIdentity& of) {
    const auto& s = of.shape;
    return std::to_string(s.layers) + " layers, hidden " + std::to_string(s.hidden) + ", heads " +
           std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " of " +
           std::to_string(s.head_dim) + ", vocabulary " + std::to_string(of.vocab);
  };
  if (extents(mine) != extents(base)) refuse("a base with " + extents(mine), extents(base));
  if (mine.tokenizer_hash != base.tokenizer_hash)
    refuse("a base with tokenizer " + mine.tokenizer_hash, base.tokenizer_hash);
  if (mine.norms.sizes() != base.norms.sizes())
    refuse("norm vectors of the base's shape", "others in the adapter");
  const auto size = mine.norms.abs().mean(-1, true);
  const auto difference = ((mine.norms - base.norms).abs() / (mine.norms.abs() + size)).amax(-1);
  if (const double worst = difference.max().item<double>(); !(worst <= 0.01)) {
    refuse("a base whose norm vectors are the adapter's within 1%",
           "a difference of " + std::to_string(100 * worst) + "% in norm " +
               std::to_string(difference.argmax().item<int64_t>()));
  }
  if (mine.weights_hash == base.weights_hash) return std::nullopt;
  const std::string text = "the adapter was made for weights with hash " + mine.weights_hash +
                           ", these have " + base.weights_hash +
                           ": another quantisation or a fine-tune";
  if (strict)
    throw Error(ErrorKind::kMismatch, "adapter", "weights with hash " + mine.weights_hash,
                base.weights_hash,
                "another quantisation or a fine-tune: leave out --strict-base to accept it");
  return text;
}

}  // namespace focus
