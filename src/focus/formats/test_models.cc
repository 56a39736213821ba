#include "focus/formats/test_models.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <random>

#include "focus/base/files.h"
#include "focus/formats/llama_weights.h"
#include "focus/formats/safetensors.h"
#include "focus/formats/tensor_info.h"

namespace focus {
namespace {

// Exact for k / 64, |k| <= 127, and 0.
uint16_t exact_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) == 0) return static_cast<uint16_t>(bits >> 16);
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 |
                               (bits >> 13 & 0x3ff));
}

std::string encode(const std::vector<float>& values, uint32_t type) {
  std::string bytes;
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == 0) bytes += raw_bytes(values[i]);
    if (type == 1) bytes += raw_bytes(exact_half(values[i]));
    if (type == 30) {
      bytes += raw_bytes(static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> 16));
    }
    if (type == 8) {
      if (i % 32 == 0) bytes += raw_bytes(exact_half(1.0F / 64));
      bytes += raw_bytes(static_cast<int8_t>(values[i] * 64));
    }
  }
  return bytes;
}

// What converters do to q and k: each head's two halves become interleaved.
std::vector<float> interleave(const std::vector<float>& in, int64_t heads, int64_t columns) {
  const int64_t head_dim = static_cast<int64_t>(in.size()) / columns / heads;
  std::vector<float> out;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t pair = 0; pair < head_dim / 2; ++pair) {
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t row = head * head_dim + half * (head_dim / 2) + pair;
        out.insert(out.end(), in.begin() + row * columns, in.begin() + (row + 1) * columns);
      }
    }
  }
  return out;
}

}  // namespace

std::string gguf_string(std::string_view text) {
  return raw_bytes(uint64_t{text.size()}).append(text);
}

void GgufBuilder::add_pair(std::string_view key, uint32_t type, std::string_view value) {
  pairs.append(gguf_string(key)).append(raw_bytes(type)).append(value);
  ++pair_count;
}

void GgufBuilder::add_string(std::string_view key, std::string_view value) {
  add_pair(key, 8, gguf_string(value));
}

void GgufBuilder::add_array(std::string_view key, uint32_t type, uint64_t count,
                            std::string_view elements) {
  add_pair(key, 9, raw_bytes(type).append(raw_bytes(count)).append(elements));
}

void GgufBuilder::add_tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type,
                             std::string_view data) {
  uint64_t offset = 0;
  if (!tensors.empty()) {
    const uint64_t end = tensors.back().offset + tensors.back().data.size();
    offset = (end + alignment - 1) / alignment * alignment;
  }
  tensors.push_back({std::string(name), std::move(dims), type, offset, std::string(data)});
}

std::string GgufBuilder::build() const {
  std::string file = "GGUF" + raw_bytes(version) + raw_bytes(uint64_t{tensors.size()}) +
                     raw_bytes(pair_count) + pairs;
  std::string data;
  for (const Tensor& tensor : tensors) {
    file.append(gguf_string(tensor.name));
    file.append(raw_bytes(static_cast<uint32_t>(tensor.dims.size())));
    for (const uint64_t extent : tensor.dims) file.append(raw_bytes(extent));
    file.append(raw_bytes(tensor.type)).append(raw_bytes(tensor.offset));
    if (tensor.offset < (uint64_t{1} << 20)) data.resize(tensor.offset);
    data.append(tensor.data);
  }
  file.resize((file.size() + alignment - 1) / alignment * alignment);
  return file + data;
}

TinyModel::TinyModel(bool tied) {
  config.architecture = "llama";
  config.hidden = 32;
  config.layers = 2;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 4;
  config.intermediate = 64;
  config.vocab = 11;
  config.context = 128;
  config.rope_theta = 50000.0;
  config.norm_epsilon = 1e-6;
  config.tied_embeddings = tied;
  config.bos = 1;
  config.eos = {2};
  std::mt19937 random(7);
  for (const WeightSpec& spec : llama_weights(config)) {
    const int64_t elements = element_count(spec.shape);
    std::vector<float>& value = values[spec.name];
    for (int64_t i = 0; i < elements; ++i) {
      value.push_back(static_cast<float>(static_cast<int>(random() % 255) - 127) / 64);
    }
    shapes[spec.name] = spec.shape;
  }
}

std::string TinyModel::config_json() const {
  return nlohmann::json{{"model_type", "llama"},
                        {"hidden_size", config.hidden},
                        {"num_hidden_layers", config.layers},
                        {"num_attention_heads", config.heads},
                        {"num_key_value_heads", config.kv_heads},
                        {"head_dim", config.head_dim},
                        {"intermediate_size", config.intermediate},
                        {"vocab_size", config.vocab},
                        {"max_position_embeddings", config.context},
                        {"rope_theta", config.rope_theta},
                        {"rms_norm_eps", config.norm_epsilon},
                        {"tie_word_embeddings", config.tied_embeddings},
                        {"bos_token_id", *config.bos},
                        {"eos_token_id", config.eos}}
      .dump();
}

void TinyModel::write_folder(const std::string& folder, int shards) const {
  ensure_directory(folder);
  write_file_atomically(folder + "/config.json", config_json());
  std::vector<std::vector<TensorToWrite>> parts(static_cast<size_t>(shards));
  nlohmann::json index = {{"weight_map", nlohmann::json::object()}};
  size_t i = 0;
  for (const auto& [name, value] : values) {
    const size_t part = i++ % parts.size();
    parts[part].push_back({name, DType::kF32, shapes.at(name), std::as_bytes(std::span(value))});
    index["weight_map"][name] = "part-" + std::to_string(part) + ".safetensors";
  }
  if (shards == 1) {
    write_safetensors(folder + "/model.safetensors", parts[0], {{"format", "pt"}});
    return;
  }
  for (size_t part = 0; part < parts.size(); ++part) {
    write_safetensors(folder + "/part-" + std::to_string(part) + ".safetensors", parts[part], {});
  }
  write_file_atomically(folder + "/model.safetensors.index.json", index.dump());
}

GgufBuilder TinyModel::gguf() const {
  GgufBuilder file;
  const auto u32 = [&file](const char* key, int64_t value) {
    file.add_u32(key, static_cast<uint32_t>(value));
  };
  file.add_string("general.architecture", "llama");
  u32("llama.embedding_length", config.hidden);
  u32("llama.block_count", config.layers);
  u32("llama.attention.head_count", config.heads);
  u32("llama.attention.head_count_kv", config.kv_heads);
  u32("llama.attention.key_length", config.head_dim);
  u32("llama.attention.value_length", config.head_dim);
  u32("llama.rope.dimension_count", config.head_dim);
  u32("llama.feed_forward_length", config.intermediate);
  u32("llama.context_length", config.context);
  u32("llama.vocab_size", config.vocab);
  file.add_f32("llama.rope.freq_base", static_cast<float>(config.rope_theta));
  file.add_f32("llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.norm_epsilon));
  u32("tokenizer.ggml.bos_token_id", *config.bos);
  u32("tokenizer.ggml.eos_token_id", config.eos.at(0));
  constexpr uint32_t kTypes[] = {8, 1, 30, 0};
  size_t next = 0;
  for (const WeightSpec& spec : llama_weights(config)) {
    std::vector<float> value = values.at(spec.name);
    if (spec.permuted_heads > 0) value = interleave(value, spec.permuted_heads, spec.shape[1]);
    uint32_t type = kTypes[next++ % 4];
    if (type == 8 && spec.shape.back() % 32 != 0) type = 0;
    file.add_tensor(spec.gguf_name, {spec.shape.rbegin(), spec.shape.rend()}, type,
                    encode(value, type));
  }
  return file;
}

}  // namespace focus
