#include "focus/nn/masked_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace focus {
namespace {

void append_range(GroupSets& to, const GroupSets& from, int64_t first, int64_t count) {
  if (to.empty()) to = GroupSets(from.groups(), from.heads());
  for (int64_t n = 0; n < count; ++n) {
    const int64_t row = to.grow(1);
    for (int64_t h = 0; h < from.heads(); ++h)
      std::ranges::copy(from.set(first + n, h), to.set(row, h).begin());
  }
}

template <typename T>
T& at_layer(std::vector<T>& layers, int64_t layer) {
  if (static_cast<int64_t>(layers.size()) <= layer) layers.resize(layer + 1);
  return layers[layer];
}

}  // namespace

GroupSets MaskedAttention::decide(const LayerInputs& inputs, GroupSets& keys) const {
  if (replay_ == nullptr) return mask_.router->route(inputs, keys);
  const auto& layer = replay_->layers.at(inputs.layer);
  GroupSets queries;
  append_range(queries, layer.queries, inputs.first, inputs.q.size(0));
  append_range(keys, layer.keys, inputs.first, inputs.q.size(0));
  return queries;
}

at::Tensor MaskedAttention::operator()(const LayerInputs& inputs, LayerCache& cache) {
  const int64_t tokens = inputs.q.size(0), dim = inputs.q.size(2);
  cache.append(inputs.k, inputs.v);
  GroupSets queries;
  if (mask_.router != nullptr) {
    queries = decide(inputs, cache.key_sets);
    if (record_ != nullptr) {
      auto& layer = at_layer(record_->layers, inputs.layer);
      append_range(layer.queries, queries, 0, tokens);
      append_range(layer.keys, cache.key_sets, inputs.first, tokens);
    }
  }
  const bool routed = mask_.router != nullptr;
  const Plan plan(mask_.rule,
                  {.first = inputs.first,
                   .queries = tokens,
                   .query_heads = inputs.q.size(1),
                   .kv_heads = inputs.k.size(1)},
                  routed ? &queries : nullptr, routed ? &cache.key_sets : nullptr);
  PairCount count;
  std::vector<int32_t> kept_per_row;
  auto out = attention(inputs.q, cache.keys(), cache.values(), plan,
                       1 / std::sqrt(static_cast<double>(dim)), runner_, &count, &kept_per_row);
  pairs_ += count;
  at_layer(layer_pairs_, inputs.layer) += count;
  for (int32_t kept : kept_per_row) ++at_layer(histogram_, kept);
  return out;
}

}  // namespace focus
