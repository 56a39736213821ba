// One decoder for every supported family (the Llama family in this release).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <vector>

#include "focus/formats/checkpoint.h"
#include "focus/nn/kv_cache.h"
#include "focus/nn/masked_attention.h"

namespace focus {

// bf16 matrix products with an fp32 residual stream, or fp32 throughout.
enum class ComputeType { kF32, kBF16 };

struct DecoderOptions {
  ComputeType compute = ComputeType::kF32;
  // Fixed row tile in every matrix product: prefill, chunks and token by token are bit-equal (with
  // rows attention).
  bool batch_invariant = false;
};

// Bytes of the weights once expanded to the compute type.
int64_t expanded_bytes(const Checkpoint& checkpoint, ComputeType compute);
// bf16 where the CPU multiplies it natively, else fp32.
ComputeType default_compute_type();

class Decoder {
 public:
  // Reads and expands every weight. Error(kMemory), with both sizes, when they exceed the memory
  // that is free. progress(done, total) counts weights.
  Decoder(const Checkpoint& checkpoint, const DecoderOptions& options,
          const std::function<void(int64_t, int64_t)>& progress = {});

  const ModelConfig& config() const { return config_; }
  const DecoderOptions& options() const { return options_; }
  int64_t weight_count() const { return weight_count_; }
  // The norm vectors of layer and role, for the adapter's identity check: [hidden] fp32.
  const at::Tensor& attention_norm(int64_t layer) const { return layers_[layer].attention_norm; }
  const at::Tensor& final_norm() const { return final_norm_; }

  // Runs the new tokens after those in the cache and returns [n, hidden] fp32, before the final
  // norm. Errors: kUsage (token id out of range, context exceeded).
  at::Tensor forward(std::span<const int32_t> tokens, KvCache& cache,
                     const LayerAttention& attention) const;
  // [n, vocab] fp32 from forward's rows; `position` is that of the first row (it fixes the tile
  // when batch-invariant).
  at::Tensor logits(const at::Tensor& hidden, int64_t position) const;
  KvCache new_cache() const { return KvCache(config_.layers); }

 private:
  struct Layer {
    at::Tensor attention_norm, mlp_norm;  // [hidden] fp32
    at::Tensor qkv;                       // [(heads + 2 kv_heads) * dim, hidden]
    at::Tensor output;                    // [hidden, heads * dim]
    at::Tensor gate_up;                   // [2 * intermediate, hidden]
    at::Tensor down;                      // [hidden, intermediate]
  };
  using RowFunction =
      std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& rows, int64_t first)>;

  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;
  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight) const;  // fp32 in and out
  LayerInputs attention_inputs(int64_t layer, const at::Tensor& x, int64_t first) const;
  at::Tensor finish_layer(int64_t layer, const at::Tensor& x, const at::Tensor& attended,
                          int64_t first) const;
  // Applies f to all rows at once or, when batch-invariant, tile by tile at fixed tile positions.
  std::vector<at::Tensor> by_rows(const std::vector<at::Tensor>& rows, int64_t first,
                                  const RowFunction& f) const;
  at::Tensor rotate(const at::Tensor& x, int64_t first) const;

  ModelConfig config_;
  DecoderOptions options_;
  at::ScalarType dtype_;
  int64_t weight_count_ = 0;
  at::Tensor embedding_, head_;  // [vocab, hidden]
  at::Tensor final_norm_;
  at::Tensor inverse_frequency_;  // [dim / 2] fp32
  std::vector<Layer> layers_;
};

}  // namespace focus
