// The attention of every model here: a rule, a router that may be absent, one plan.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "focus/nn/kv_cache.h"
#include "focus/nn/layer_inputs.h"
#include "focus/nn/router.h"
#include "focus/ops/attention.h"

namespace focus {

// What a decoder calls in each layer: appends the new keys and values to the cache, returns [n,
// heads * dim].
using LayerAttention = std::function<at::Tensor(const LayerInputs&, LayerCache&)>;

// Q and M of each layer's tokens, to be recorded in one run and replayed in another.
struct RoutingRecord {
  struct Layer {
    GroupSets queries, keys;
  };
  std::vector<Layer> layers;
};

class MaskedAttention {
 public:
  explicit MaskedAttention(Mask mask, AttentionRunner runner = AttentionRunner::kAuto)
      : mask_(std::move(mask)), runner_(runner) {}

  at::Tensor operator()(const LayerInputs& inputs, LayerCache& cache);

  // Pairs since construction or reset, over all layers and query heads.
  const PairCount& pairs() const { return pairs_; }
  const PairCount& pairs(int64_t layer) const { return layer_pairs_[layer]; }
  // How many (layer, head, query) rows kept exactly n keys.
  const std::vector<int64_t>& kept_histogram() const { return histogram_; }
  const Mask& mask() const { return mask_; }

  // Writes every decision into *record (nullptr: stops). The record grows token by token.
  void record(RoutingRecord* record) { record_ = record; }
  // Takes decisions from *record instead of the router (nullptr: stops); it must hold every token
  // that comes.
  void replay(const RoutingRecord* record) { replay_ = record; }

 private:
  GroupSets decide(const LayerInputs& inputs, GroupSets& keys) const;

  Mask mask_;
  AttentionRunner runner_;
  PairCount pairs_;
  std::vector<PairCount> layer_pairs_;
  std::vector<int64_t> histogram_;
  RoutingRecord* record_ = nullptr;
  const RoutingRecord* replay_ = nullptr;
};

}  // namespace focus
