// A model on disk, one view for both forms: a Hugging Face folder (config.json, one safetensors
// file or shards with index) or one GGUF file. Tensor names and row order are Hugging Face's in
// both: GGUF's q/k row permutation of the llama architecture is undone on read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "focus/formats/gguf.h"
#include "focus/formats/model_config.h"

namespace focus {

class Checkpoint {
 public:
  // Errors: kNotFound, kFormat, kUnsupported (architecture, rope_scaling kind, activation: named),
  // kMismatch (shape that the config does not allow, index naming an absent shard or tensor: found
  // here, before any weight is read).
  explicit Checkpoint(const std::string& path);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const std::string& path() const;
  const ModelConfig& config() const;
  // The GGUF file behind it, or nullptr for a folder (the tokenizer reads its metadata from there).
  const GgufFile* gguf() const;

  struct Weight {
    std::string name;  // e.g. "model.layers.0.self_attn.q_proj.weight"
    DType dtype;       // as stored
    std::vector<int64_t> shape;
  };
  // Every weight that the config asks for, in a fixed order (embedding, layers, final norm, head if
  // untied).
  const std::vector<Weight>& weights() const;
  // Expands one weight, rows in Hugging Face order. out.size() == product of its shape.
  void read_f32(const std::string& name, std::span<float> out) const;
  // A hash over sampled blocks of every tensor as stored (the adapter's "same file" warning). Hex,
  // 16 digits.
  std::string sampled_hash() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace focus
