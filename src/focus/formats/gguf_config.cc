#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "focus/base/error.h"
#include "focus/formats/gguf.h"
#include "focus/formats/model_config.h"

namespace focus {
namespace {

[[noreturn]] void unsupported(const GgufFile& file, const std::string& expected,
                              const std::string& found) {
  throw Error(ErrorKind::kUnsupported, file.path(), expected, found, "use another model");
}

void check_kind(const GgufFile& file) {
  const std::string architecture = file.string("general.architecture");
  if (architecture != "llama") {
    unsupported(file, std::string("general.architecture ") + kKnownArchitectures,
                in_quotes(architecture));
  }
  if (file.has("split.count") && file.integer("split.count") > 1) {
    throw Error(ErrorKind::kUnsupported, file.path(), "a model in one file",
                "a part of " + std::to_string(file.integer("split.count")),
                "join the parts with gguf-split --merge");
  }
  if (file.has("llama.expert_count") && file.integer("llama.expert_count") > 0) {
    unsupported(file, "a model without experts",
                std::to_string(file.integer("llama.expert_count")) + " experts");
  }
}

void check_rope(const GgufFile& file, int64_t head_dim) {
  if (file.has("llama.rope.scaling.type") && file.string("llama.rope.scaling.type") != "none") {
    unsupported(file, "no rope scaling", in_quotes(file.string("llama.rope.scaling.type")));
  }
  for (const char* key : {"llama.rope.scale_linear", "llama.rope.scaling.factor"}) {
    if (file.has(key) && file.real(key) != 1.0 && file.real(key) != 0.0) {
      unsupported(file, "no rope scaling", std::string(key) + " " + std::to_string(file.real(key)));
    }
  }
  if (file.has("llama.rope.dimension_count") &&
      file.integer("llama.rope.dimension_count") != head_dim) {
    unsupported(file, "rotary embeddings over the whole head of " + std::to_string(head_dim),
                std::to_string(file.integer("llama.rope.dimension_count")) + " dimensions");
  }
}

int64_t head_dim_of(const GgufFile& file, const ModelConfig& config) {
  if (!file.has("llama.attention.key_length")) {
    if (config.heads > 0 && config.hidden % config.heads == 0) return config.hidden / config.heads;
    throw Error(ErrorKind::kFormat, file.path(),
                "llama.attention.key_length, or an embedding length that heads divide",
                std::to_string(config.hidden) + " over " + std::to_string(config.heads));
  }
  const int64_t key = file.integer("llama.attention.key_length");
  if (file.has("llama.attention.value_length") &&
      file.integer("llama.attention.value_length") != key) {
    unsupported(file, "keys and values of one length",
                std::to_string(key) + " and " +
                    std::to_string(file.integer("llama.attention.value_length")));
  }
  return key;
}

// The decimal number that a float32 stands for: 1e-05, not 9.99999975e-06, so that both forms of a
// model agree.
double decimal_of(double value) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value || !std::isfinite(narrow)) return value;
  char text[48];
  const auto end = std::to_chars(text, text + sizeof(text), narrow).ptr;
  double decimal = value;
  std::from_chars(text, end, decimal);
  return decimal;
}

int64_t vocab_of(const GgufFile& file) {
  if (file.has("llama.vocab_size")) return file.integer("llama.vocab_size");
  for (const TensorInfo& tensor : file.tensors()) {
    if (tensor.name == "token_embd.weight" && tensor.shape.size() == 2) return tensor.shape[0];
  }
  throw Error(ErrorKind::kNotFound, file.path(), "llama.vocab_size or token_embd.weight",
              "neither");
}

int32_t id_of(const GgufFile& file, const char* key) {
  const int64_t id = file.integer(key);
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) {
    throw Error(ErrorKind::kFormat, file.path(), std::string(key) + " of 0 or more",
                std::to_string(id));
  }
  return static_cast<int32_t>(id);
}

}  // namespace

ModelConfig read_gguf_config(const GgufFile& file) {
  check_kind(file);
  ModelConfig config;
  config.architecture = "llama";
  config.hidden = file.integer("llama.embedding_length");
  config.layers = file.integer("llama.block_count");
  config.heads = file.integer("llama.attention.head_count");
  config.kv_heads = file.has("llama.attention.head_count_kv")
                        ? file.integer("llama.attention.head_count_kv")
                        : config.heads;
  config.head_dim = head_dim_of(file, config);
  config.intermediate = file.integer("llama.feed_forward_length");
  config.context = file.integer("llama.context_length");
  config.norm_epsilon = decimal_of(file.real("llama.attention.layer_norm_rms_epsilon"));
  if (file.has("llama.rope.freq_base"))
    config.rope_theta = decimal_of(file.real("llama.rope.freq_base"));
  check_rope(file, config.head_dim);
  config.vocab = vocab_of(file);
  if (file.has("tokenizer.ggml.bos_token_id")) {
    config.bos = id_of(file, "tokenizer.ggml.bos_token_id");
  }
  // Chat models name the end of a turn apart from the end of the text.
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    if (!file.has(key)) continue;
    const int32_t id = id_of(file, key);
    if (std::find(config.eos.begin(), config.eos.end(), id) == config.eos.end()) {
      config.eos.push_back(id);
    }
  }
  if (file.has("tokenizer.ggml.add_bos_token")) {
    config.add_bos = file.boolean("tokenizer.ggml.add_bos_token");
  }
  check_config(file.path(), config);
  return config;
}

}  // namespace focus
