// An adapter on disk, in PEFT's shape: focus_config.json + focus_model.safetensors in a folder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "focus/nn/decoder.h"
#include "focus/nn/router.h"
#include "focus/nn/routing.h"

namespace focus {

// What an adapter remembers of the model it was made for.
struct BaseIdentity {
  std::string architecture;
  RoutingShape shape;
  int64_t vocab = 0;
  std::string tokenizer_hash;
  std::string weights_hash;  // Checkpoint::sampled_hash: tells another quantisation or a fine-tune
  at::Tensor norms;          // [layers + 1, hidden] fp32: the attention norms and the final one

  static BaseIdentity of(const Decoder& decoder, const std::string& tokenizer_hash,
                         const std::string& weights_hash);
};

struct Adapter {
  BaseIdentity base;
  RoutingSpec spec;
  Rule rule;
  std::vector<LayerRouting> layers;
  // How it was made, for people: text, tokens, length, cost at that length. Shown by `focus info`.
  std::vector<std::pair<std::string, std::string>> calibration;

  int64_t parameter_count() const;
  std::vector<std::vector<int32_t>> reads() const;  // [layers][query routers]
  // scoring_cost (nn/routing.h) of this adapter.
  double scoring(int64_t tokens) const;
  Mask mask(const std::string& name) const;
};

// Each file is replaced in one step, the config last; it holds the weights' hash, so that a mixed
// pair is refused.
void save_adapter(const std::string& folder, const Adapter& adapter);
// Errors: kNotFound, kFormat (JSON, unknown or missing key, tensors), kMismatch (config and weights
// of two adapters).
Adapter load_adapter(const std::string& folder);

// Refuses an adapter of another base: architecture, shapes, tokenizer, norm vectors (each within 1%
// of its size, which quantisation and casts keep). Error(kMismatch) names both sides. When only the
// sampled weights differ, returns a warning, or throws it with `strict`.
std::optional<std::string> check_base(const Adapter& adapter, const BaseIdentity& base,
                                      bool strict);

}  // namespace focus
