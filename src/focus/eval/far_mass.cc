#include "focus/eval/far_mass.h"

#include <ATen/ATen.h>

#include <numeric>

#include "focus/nn/attention_mass.h"
#include "focus/ops/threads.h"
#include "focus/plan/plan.h"

namespace focus {

FarMass::FarMass(std::vector<Mask> masks, const Rule& near, int64_t layers, int64_t heads)
    : masks_(std::move(masks)),
      near_(near),
      layers_(layers),
      heads_(heads),
      far_(layers * heads, 0.0),
      rows_(layers * heads, 0.0),
      kept_(masks_.size(), std::vector<double>(layers * heads, 0.0)) {}

void FarMass::observe(const LayerInputs& inputs, const std::vector<int64_t>& rows) {
  const auto probabilities = attention_probabilities(inputs, rows);
  const int64_t count = static_cast<int64_t>(rows.size()), tokens = probabilities.size(2),
                heads = heads_;
  const float* p = probabilities.const_data_ptr<float>();
  const auto far_end = [&](int64_t query) {
    return query < near_.dense_until ? 0 : query - near_.window;
  };
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t r = 0; r < count; ++r) {
      const float* row = p + (h * count + r) * tokens;
      for (int64_t j = near_.sinks; j < far_end(rows[r]); ++j)
        far_[inputs.layer * heads + h] += row[j];
    }
    rows_[inputs.layer * heads + h] += static_cast<double>(count);
  }
  for (size_t m = 0; m < masks_.size(); ++m) {
    GroupSets keys, queries;
    const bool routed = masks_[m].router != nullptr;
    if (routed) queries = masks_[m].router->route(inputs, keys);
    const Plan plan(
        masks_[m].rule,
        {.first = 0, .queries = tokens, .query_heads = heads, .kv_heads = inputs.k.size(1)},
        routed ? &queries : nullptr, routed ? &keys : nullptr);
    torch_parallel()(heads, [&](int64_t begin, int64_t end) {
      std::vector<uint8_t> kept(tokens);
      for (int64_t h = begin; h < end; ++h) {
        double sum = 0;
        for (int64_t r = 0; r < count; ++r) {
          plan.row(h, rows[r], kept);
          const float* row = p + (h * count + r) * tokens;
          for (int64_t j = near_.sinks; j < far_end(rows[r]); ++j) sum += kept[j] != 0 ? row[j] : 0;
        }
        kept_[m][inputs.layer * heads + h] += sum;
      }
    });
  }
}

double FarMass::kept(size_t mask) const {
  return std::accumulate(kept_[mask].begin(), kept_[mask].end(), 0.0) /
         std::accumulate(far_.begin(), far_.end(), 0.0);
}

std::vector<std::vector<double>> FarMass::kept_by_head(size_t mask) const {
  std::vector<std::vector<double>> out(layers_, std::vector<double>(heads_));
  for (int64_t n = 0; n < layers_ * heads_; ++n)
    out[n / heads_][n % heads_] = kept_[mask][n] / far_[n];
  return out;
}

std::vector<std::vector<double>> FarMass::far_by_head() const {
  std::vector<std::vector<double>> out(layers_, std::vector<double>(heads_));
  for (int64_t n = 0; n < layers_ * heads_; ++n) out[n / heads_][n % heads_] = far_[n] / rows_[n];
  return out;
}

}  // namespace focus
