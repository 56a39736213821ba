#include <algorithm>
#include <filesystem>
#include <limits>

#include "focus/base/error.h"
#include "focus/formats/json_file.h"
#include "focus/formats/model_config.h"

namespace focus {
namespace {

using nlohmann::json;

[[noreturn]] void unsupported(const JsonFile& file, const std::string& expected,
                              const std::string& found) {
  throw Error(ErrorKind::kUnsupported, file.path(), expected, found, "use another model");
}

int32_t to_id(const JsonFile& file, std::string_view key, const json& value) {
  const int64_t id = file.to_integer(key, value);
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) {
    file.fail_type(key, "a token id of 0 or more", value);
  }
  return static_cast<int32_t>(id);
}

// One id or a list of them; empty where absent.
std::vector<int32_t> ids_of(const JsonFile& file, std::string_view key) {
  std::vector<int32_t> ids;
  const json* value = file.find(key);
  if (value == nullptr) return ids;
  if (!value->is_array()) return {to_id(file, key, *value)};
  for (const json& element : *value) {
    const int32_t id = to_id(file, key, element);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

void check_rope_kind(const JsonFile& file, std::string_view key, const json& rope) {
  if (!rope.is_object()) file.fail_type(key, "an object", rope);
  for (const char* name : {"rope_type", "type"}) {
    const json* kind = JsonFile::find_in(rope, name);
    if (kind == nullptr) continue;
    const std::string text = file.to_string(name, *kind);
    if (text != "default" && text != "none") {
      unsupported(file, "no rope scaling ('default')", in_quotes(text) + " in " + std::string(key));
    }
    return;
  }
  // A scaling without a kind, or one table per kind of layer: nothing here would apply it.
  for (const auto& item : rope.items()) {
    if (item.value().is_object() || item.key() == "factor") {
      unsupported(file, "no rope scaling ('default')",
                  in_quotes(item.key()) + " in " + std::string(key));
    }
  }
}

void read_rope(const JsonFile& file, ModelConfig* config) {
  double partial = 1.0;
  const auto read = [&](std::string_view key, const json* theta, const json* part) {
    if (theta != nullptr) config->rope_theta = file.to_real(key, *theta);
    if (part != nullptr) partial = file.to_real(key, *part);
  };
  read("rope_theta", file.find("rope_theta"), file.find("partial_rotary_factor"));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* rope = file.find(key);
    if (rope == nullptr) continue;
    check_rope_kind(file, key, *rope);
    read(key, JsonFile::find_in(*rope, "rope_theta"),
         JsonFile::find_in(*rope, "partial_rotary_factor"));
  }
  if (partial != 1.0) {
    unsupported(file, "partial_rotary_factor 1", std::to_string(partial));
  }
  if (file.boolean_or("rope_interleaved", false)) {
    unsupported(file, "rope_interleaved false", "true");
  }
}

void check_kind(const JsonFile& file) {
  const std::string type = file.string_or("model_type", "");
  if (type != "llama") {
    unsupported(file, std::string("model_type ") + kKnownArchitectures,
                type.empty() ? "none" : in_quotes(type));
  }
  const std::string activation = file.string_or("hidden_act", "silu");
  if (activation != "silu") unsupported(file, "hidden_act 'silu'", in_quotes(activation));
  for (const char* bias : {"attention_bias", "mlp_bias"}) {
    if (file.boolean_or(bias, false)) unsupported(file, std::string(bias) + " false", "true");
  }
  if (file.find("quantization_config") != nullptr) {
    unsupported(file, "weights in F32, F16 or BF16", "a quantization_config");
  }
}

std::optional<JsonFile> open_if_present(const std::string& folder, const char* name) {
  const std::string path = folder + "/" + name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return JsonFile(path);
}

}  // namespace

HfConfig read_hf_config(const std::string& folder) {
  const JsonFile file(folder + "/config.json");
  check_kind(file);
  HfConfig result;
  ModelConfig& config = result.config;
  config.architecture = "llama";
  config.hidden = file.integer("hidden_size");
  config.layers = file.integer("num_hidden_layers");
  config.heads = file.integer("num_attention_heads");
  config.kv_heads = file.integer_or("num_key_value_heads", config.heads);
  config.intermediate = file.integer("intermediate_size");
  config.vocab = file.integer("vocab_size");
  // What transformers assumes for a llama where these are absent.
  config.context = file.integer_or("max_position_embeddings", 2048);
  const json* epsilon = file.find("rms_norm_eps");
  config.norm_epsilon = epsilon == nullptr ? 1e-6 : file.to_real("rms_norm_eps", *epsilon);
  read_rope(file, &config);
  if (file.find("head_dim") != nullptr) {
    config.head_dim = file.integer("head_dim");
  } else if (config.heads > 0 && config.hidden % config.heads == 0) {
    config.head_dim = config.hidden / config.heads;
  } else {
    throw Error(ErrorKind::kFormat, file.path(), "head_dim, or a hidden_size that heads divide",
                std::to_string(config.hidden) + " over " + std::to_string(config.heads));
  }
  if (const json* tied = file.find("tie_word_embeddings")) {
    result.tied = file.to_boolean("tie_word_embeddings", *tied);
    config.tied_embeddings = *result.tied;
  }
  if (const json* bos = file.find("bos_token_id")) config.bos = to_id(file, "bos_token_id", *bos);
  config.eos = ids_of(file, "eos_token_id");
  if (const auto generation = open_if_present(folder, "generation_config.json")) {
    if (generation->find("eos_token_id") != nullptr)
      config.eos = ids_of(*generation, "eos_token_id");
  }
  if (const auto tokenizer = open_if_present(folder, "tokenizer_config.json")) {
    config.add_bos = tokenizer->boolean_or("add_bos_token", false);
  }
  check_config(file.path(), config);
  return result;
}

}  // namespace focus
