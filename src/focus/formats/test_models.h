// For tests: a GGUF writer that can also write nonsense, and one tiny model in every form on disk.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "focus/formats/model_config.h"

namespace focus {

// Numbers as the file holds them, little-endian.
template <typename T>
std::string raw_bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

struct GgufBuilder {
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;  // innermost first
    uint32_t type;               // ggml's number
    uint64_t offset;
    std::string data;
  };

  void add_pair(std::string_view key, uint32_t type, std::string_view value);
  void add_string(std::string_view key, std::string_view value);
  void add_u32(std::string_view key, uint32_t value) { add_pair(key, 4, raw_bytes(value)); }
  void add_f32(std::string_view key, float value) { add_pair(key, 6, raw_bytes(value)); }
  void add_bool(std::string_view key, bool value) { add_pair(key, 7, raw_bytes(value)); }
  void add_array(std::string_view key, uint32_t type, uint64_t count, std::string_view elements);
  // Behind the tensors added so far, at the next multiple of `alignment`.
  void add_tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type,
                  std::string_view data);
  std::string build() const;

  uint32_t version = 3;
  uint64_t alignment = 32;
  std::string pairs;
  uint64_t pair_count = 0;
  std::vector<Tensor> tensors;
};

// A string behind its 64-bit length.
std::string gguf_string(std::string_view text);

// A llama with grouped heads whose size is not hidden / heads. Every weight is k / 64 with |k| <=
// 127: exact in F32, F16, BF16 and Q8_0 alike.
struct TinyModel {
  explicit TinyModel(bool tied);

  // The files of a Hugging Face folder; `shards` > 1 writes that many files and an index.
  void write_folder(const std::string& folder, int shards = 1) const;
  std::string config_json() const;
  // One file with tensors in turn as F32, F16, BF16 and Q8_0 (where rows allow), q and k permuted
  // as converters do.
  GgufBuilder gguf() const;

  ModelConfig config;
  std::map<std::string, std::vector<int64_t>> shapes;  // by Hugging Face's names
  std::map<std::string, std::vector<float>> values;
};

}  // namespace focus
