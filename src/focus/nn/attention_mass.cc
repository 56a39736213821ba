#include "focus/nn/attention_mass.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "focus/base/random.h"

namespace focus {

at::Tensor attention_probabilities(const LayerInputs& inputs, std::span<const int64_t> rows) {
  const int64_t tokens = inputs.k.size(0), heads = inputs.q.size(1), kv_heads = inputs.k.size(1),
                dim = inputs.q.size(2);
  const auto index = at::tensor(at::ArrayRef<int64_t>(rows.data(), rows.size()), at::kLong);
  const auto q =
      inputs.q.index_select(0, index).view({index.size(0), kv_heads, heads / kv_heads, dim});
  // [kv_heads, heads / kv_heads * rows, dim] x [kv_heads, dim, tokens]
  const auto folded = q.permute({1, 2, 0, 3}).reshape({kv_heads, -1, dim});
  auto scores = at::bmm(folded, inputs.k.permute({1, 2, 0}))
                    .to(at::kFloat)
                    .view({heads, index.size(0), tokens});
  scores = scores / std::sqrt(static_cast<double>(dim));
  const auto later = at::arange(tokens, at::kLong).unsqueeze(0) > index.unsqueeze(1);
  return at::softmax(
      scores.masked_fill_(later.unsqueeze(0), -std::numeric_limits<float>::infinity()), -1);
}

std::vector<int64_t> sample_rows(int64_t tokens, int64_t count, uint64_t seed) {
  std::vector<int64_t> rows;
  Random random(seed);
  // Selection sampling: each position is taken with the probability that fills the rest.
  for (int64_t t = 0; t < tokens && static_cast<int64_t>(rows.size()) < count; ++t) {
    const int64_t left = count - static_cast<int64_t>(rows.size());
    if (left >= tokens - t || random.below(tokens - t) < left) rows.push_back(t);
  }
  return rows;
}

}  // namespace focus
