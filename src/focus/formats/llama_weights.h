// The weights of the llama family: names in both formats, shapes, and which rows GGUF permutes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "focus/formats/model_config.h"

namespace focus {

struct WeightSpec {
  std::string name;  // Hugging Face's
  std::string gguf_name;
  std::vector<int64_t> shape;
  // Heads whose rows GGUF stores in the order of interleaved rotary pairs; 0 where rows are in
  // order.
  int64_t permuted_heads = 0;
};

// In the order of Checkpoint::weights(); the head only when not tied.
std::vector<WeightSpec> llama_weights(const ModelConfig& config);

constexpr std::string_view kLlamaEmbedding[2] = {"model.embed_tokens.weight", "token_embd.weight"};
constexpr std::string_view kLlamaHead[2] = {"lm_head.weight", "output.weight"};

// True for tensors that files carry and the model may ignore: tables that follow from the config.
bool is_llama_derived(std::string_view name);

}  // namespace focus
