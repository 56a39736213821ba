#include "focus/nn/decoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <string>

#include "focus/base/error.h"
#include "focus/base/memory.h"
#include "focus/formats/tensor_info.h"

namespace focus {
namespace {

constexpr int64_t kRowTile = 16;

int64_t element_bytes(const Checkpoint::Weight& weight, ComputeType compute) {
  return weight.shape.size() > 1 && compute == ComputeType::kBF16 ? 2 : 4;
}

}  // namespace

int64_t expanded_bytes(const Checkpoint& checkpoint, ComputeType compute) {
  int64_t bytes = 0;
  for (const auto& weight : checkpoint.weights()) {
    bytes += element_count(weight.shape) * element_bytes(weight, compute);
  }
  return bytes;
}

ComputeType default_compute_type() {
  return __builtin_cpu_supports("avx512bf16") ? ComputeType::kBF16 : ComputeType::kF32;
}

Decoder::Decoder(const Checkpoint& checkpoint, const DecoderOptions& options,
                 const std::function<void(int64_t, int64_t)>& progress)
    : config_(checkpoint.config()),
      options_(options),
      dtype_(options.compute == ComputeType::kBF16 ? at::kBFloat16 : at::kFloat) {
  check_fits(checkpoint.path(), expanded_bytes(checkpoint, options.compute), available_memory());
  std::map<std::string, int64_t> index;
  for (size_t n = 0; n < checkpoint.weights().size(); ++n)
    index[checkpoint.weights()[n].name] = static_cast<int64_t>(n);
  int64_t done = 0;
  // Stacks the named matrices on top of each other, in the compute type.
  const auto load = [&](std::initializer_list<std::string> names, at::ScalarType dtype) {
    std::vector<at::Tensor> parts;
    for (const auto& name : names) {
      const auto& weight = checkpoint.weights()[index.at(name)];
      auto values = at::empty(weight.shape, at::kFloat);
      checkpoint.read_f32(name, {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
      weight_count_ += values.numel();
      parts.push_back(values.to(dtype));
      if (progress) progress(++done, static_cast<int64_t>(index.size()));
    }
    return parts.size() == 1 ? parts[0] : at::cat(parts);
  };
  embedding_ = load({"model.embed_tokens.weight"}, dtype_);
  for (int64_t n = 0; n < config_.layers; ++n) {
    const std::string at = "model.layers." + std::to_string(n) + ".";
    layers_.push_back({
        .attention_norm = load({at + "input_layernorm.weight"}, at::kFloat),
        .mlp_norm = load({at + "post_attention_layernorm.weight"}, at::kFloat),
        .qkv = load({at + "self_attn.q_proj.weight", at + "self_attn.k_proj.weight",
                     at + "self_attn.v_proj.weight"},
                    dtype_),
        .output = load({at + "self_attn.o_proj.weight"}, dtype_),
        .gate_up = load({at + "mlp.gate_proj.weight", at + "mlp.up_proj.weight"}, dtype_),
        .down = load({at + "mlp.down_proj.weight"}, dtype_),
    });
  }
  final_norm_ = load({"model.norm.weight"}, at::kFloat);
  head_ = config_.tied_embeddings ? embedding_ : load({"lm_head.weight"}, dtype_);
  const auto exponent =
      at::arange(0, config_.head_dim, 2, at::kFloat) / static_cast<double>(config_.head_dim);
  inverse_frequency_ = 1.0 / at::pow(config_.rope_theta, exponent);
}

at::Tensor Decoder::norm(const at::Tensor& x, const at::Tensor& weight) const {
  return x * at::rsqrt(x.square().mean(-1, true) + config_.norm_epsilon) * weight;
}

at::Tensor Decoder::linear(const at::Tensor& x, const at::Tensor& weight) const {
  return at::linear(x.to(dtype_), weight).to(at::kFloat);
}

at::Tensor Decoder::rotate(const at::Tensor& x, int64_t first) const {
  const auto position = at::arange(first, first + x.size(0), at::kFloat);
  const auto angle = at::outer(position, inverse_frequency_).unsqueeze(1);  // [n, 1, dim / 2]
  const auto cos = angle.cos(), sin = angle.sin();
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

std::vector<at::Tensor> Decoder::by_rows(const std::vector<at::Tensor>& rows, int64_t first,
                                         const RowFunction& f) const {
  if (!options_.batch_invariant) return f(rows, first);
  // A token sits at row (position mod tile) of a zero-padded tile, however many tokens come at
  // once: every product has the same shape and the row the same place in it.
  const int64_t count = rows[0].size(0);
  std::vector<std::vector<at::Tensor>> outputs;
  for (int64_t begin = 0; begin < count;) {
    const int64_t offset = (first + begin) % kRowTile,
                  take = std::min(count - begin, kRowTile - offset);
    std::vector<at::Tensor> tile;
    for (const auto& x : rows) {
      auto sizes = x.sizes().vec();
      sizes[0] = kRowTile;
      tile.push_back(at::zeros(sizes, x.options()));
      tile.back().narrow(0, offset, take).copy_(x.narrow(0, begin, take));
    }
    const auto results = f(tile, first + begin - offset);
    outputs.resize(results.size());
    for (size_t n = 0; n < results.size(); ++n)
      outputs[n].push_back(results[n].narrow(0, offset, take));
    begin += take;
  }
  std::vector<at::Tensor> joined;
  for (const auto& parts : outputs) joined.push_back(at::cat(parts));
  return joined;
}

LayerInputs Decoder::attention_inputs(int64_t layer, const at::Tensor& x, int64_t first) const {
  const Layer& weights = layers_[layer];
  const int64_t heads = config_.heads, kv_heads = config_.kv_heads, dim = config_.head_dim;
  auto parts =
      by_rows({x}, first,
              [&](const std::vector<at::Tensor>& rows, int64_t begin) -> std::vector<at::Tensor> {
                const auto normed = norm(rows[0], weights.attention_norm);
                const auto qkv = linear(normed, weights.qkv).view({-1, heads + 2 * kv_heads, dim});
                const auto q = qkv.narrow(1, 0, heads).contiguous(),
                           k = qkv.narrow(1, heads, kv_heads).contiguous();
                return {normed,
                        q,
                        k,
                        rotate(q, begin).to(dtype_),
                        rotate(k, begin).to(dtype_),
                        qkv.narrow(1, heads + kv_heads, kv_heads).to(dtype_)};
              });
  return {.layer = layer,
          .first = first,
          .x = parts[0],
          .q_raw = parts[1],
          .k_raw = parts[2],
          .q = parts[3],
          .k = parts[4],
          .v = parts[5]};
}

at::Tensor Decoder::finish_layer(int64_t layer, const at::Tensor& x, const at::Tensor& attended,
                                 int64_t first) const {
  const Layer& weights = layers_[layer];
  return by_rows(
      {x, attended}, first,
      [&](const std::vector<at::Tensor>& rows, int64_t) -> std::vector<at::Tensor> {
        const auto middle = rows[0] + linear(rows[1], weights.output);
        const auto gate_up =
            at::linear(norm(middle, weights.mlp_norm).to(dtype_), weights.gate_up).chunk(2, -1);
        return {middle + linear(at::silu(gate_up[0]) * gate_up[1], weights.down)};
      })[0];
}

at::Tensor Decoder::forward(std::span<const int32_t> tokens, KvCache& cache,
                            const LayerAttention& attention) const {
  const int64_t first = cache.length(), count = static_cast<int64_t>(tokens.size());
  for (int32_t token : tokens) {
    if (token < 0 || token >= config_.vocab) {
      throw Error(ErrorKind::kUsage, "token id", "0 to " + std::to_string(config_.vocab - 1),
                  std::to_string(token), "the tokenizer does not belong to this model");
    }
  }
  if (first + count > config_.context) {
    throw Error(ErrorKind::kUsage, "sequence length",
                "at most " + std::to_string(config_.context) + " tokens (the model's context)",
                std::to_string(first + count), "shorten the text or the window");
  }
  const auto ids =
      at::from_blob(const_cast<int32_t*>(tokens.data()), {count}, at::kInt).to(at::kLong);
  auto x = embedding_.index_select(0, ids).to(at::kFloat);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    const auto attended = attention(attention_inputs(layer, x, first), cache.layer(layer));
    x = finish_layer(layer, x, attended, first);
  }
  return x;
}

at::Tensor Decoder::logits(const at::Tensor& hidden, int64_t position) const {
  return by_rows({hidden}, position,
                 [&](const std::vector<at::Tensor>& rows, int64_t) -> std::vector<at::Tensor> {
                   return {linear(norm(rows[0], final_norm_), head_)};
                 })[0];
}

}  // namespace focus
