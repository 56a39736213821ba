#include "focus/formats/llama_weights.h"

namespace focus {

std::vector<WeightSpec> llama_weights(const ModelConfig& c) {
  const int64_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
  std::vector<WeightSpec> all;
  const auto add = [&all](std::string_view name, std::string_view gguf_name,
                          std::vector<int64_t> shape) {
    all.push_back({std::string(name), std::string(gguf_name), std::move(shape)});
  };
  add(kLlamaEmbedding[0], kLlamaEmbedding[1], {c.vocab, c.hidden});
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string hf = "model.layers." + std::to_string(layer) + ".";
    const std::string gguf = "blk." + std::to_string(layer) + ".";
    add(hf + "input_layernorm.weight", gguf + "attn_norm.weight", {c.hidden});
    add(hf + "self_attn.q_proj.weight", gguf + "attn_q.weight", {queries, c.hidden});
    all.back().permuted_heads = c.heads;
    add(hf + "self_attn.k_proj.weight", gguf + "attn_k.weight", {keys, c.hidden});
    all.back().permuted_heads = c.kv_heads;
    add(hf + "self_attn.v_proj.weight", gguf + "attn_v.weight", {keys, c.hidden});
    add(hf + "self_attn.o_proj.weight", gguf + "attn_output.weight", {c.hidden, queries});
    add(hf + "post_attention_layernorm.weight", gguf + "ffn_norm.weight", {c.hidden});
    add(hf + "mlp.gate_proj.weight", gguf + "ffn_gate.weight", {c.intermediate, c.hidden});
    add(hf + "mlp.up_proj.weight", gguf + "ffn_up.weight", {c.intermediate, c.hidden});
    add(hf + "mlp.down_proj.weight", gguf + "ffn_down.weight", {c.hidden, c.intermediate});
  }
  add("model.norm.weight", "output_norm.weight", {c.hidden});
  if (!c.tied_embeddings) add(kLlamaHead[0], kLlamaHead[1], {c.vocab, c.hidden});
  return all;
}

bool is_llama_derived(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn_rot_embd.weight");
}

}  // namespace focus
