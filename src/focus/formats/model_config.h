// Shapes and constants of a decoder-only transformer, as Hugging Face's config.json or GGUF
// metadata give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace focus {

struct ModelConfig {
  std::string architecture;  // Hugging Face model_type: "llama" (the family of this release)
  int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0,
          vocab = 0;
  int64_t context = 0;  // max_position_embeddings
  double rope_theta = 10000.0;
  double norm_epsilon = 1e-5;
  bool tied_embeddings = false;  // the output head is the embedding matrix
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;  // of generation_config.json where present, else of config.json / GGUF
  bool add_bos = false;      // the tokenizer puts BOS before raw text
};

class GgufFile;

// config.json, with generation_config.json and tokenizer_config.json where present. `tied` is the
// tie flag as written: absent and false are told apart, since a file without the flag may still
// hold no head. Errors: kNotFound (file, required key), kFormat (type, range, widths that do not
// divide), kUnsupported (model_type, rope scaling, activation, biases, quantisation: named).
struct HfConfig {
  ModelConfig config;
  std::optional<bool> tied;
};
HfConfig read_hf_config(const std::string& folder);

// The same from GGUF metadata; tied_embeddings is left false, since only the tensors tell.
ModelConfig read_gguf_config(const GgufFile& file);

// The values of ModelConfig::architecture that this build runs, comma-separated: for errors.
extern const char* const kKnownArchitectures;

// Refuses (kFormat) values outside what the formats and int32 ids allow, and widths that do not
// divide.
void check_config(const std::string& subject, const ModelConfig& config);

}  // namespace focus
