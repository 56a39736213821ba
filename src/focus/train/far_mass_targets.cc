#include "focus/train/far_mass_targets.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "focus/nn/attention_mass.h"
#include "focus/ops/threads.h"

namespace focus {

void TargetCollector::observe(const LayerInputs& inputs, const GroupSets& keys) {
  const auto probabilities = attention_probabilities(inputs, rows_);
  const int64_t heads = probabilities.size(0), rows = probabilities.size(1),
                tokens = probabilities.size(2);
  const int64_t routers = shape_.query_routers(spec_), groups = spec_.groups;
  const auto mass = at::zeros({heads, rows, groups}, at::kFloat);
  const float* p = probabilities.const_data_ptr<float>();
  float* out = mass.data_ptr<float>();
  torch_parallel()(heads * rows, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int64_t query = rows_[n % rows],
                    router = keys.heads() == 1 ? 0 : n / rows / (heads / keys.heads());
      for (int64_t j = rule_.sinks; j < query - rule_.window; ++j) {
        const auto set = keys.set(j, router);
        for (int64_t w = 0; w < keys.words(); ++w) {
          for (uint64_t rest = set[w]; rest != 0; rest &= rest - 1) {
            out[n * groups + w * 64 + __builtin_ctzll(rest)] += p[n * tokens + j];
          }
        }
      }
    }
  });
  mass_.push_back(routers == heads ? mass : mass.mean(0, true));
  const auto index = at::tensor(at::ArrayRef<int64_t>(rows_.data(), rows_.size()), at::kLong);
  const auto source = spec_.features == RoutingSpec::Features::kQk ? inputs.q_raw : inputs.x;
  const auto chosen = source.index_select(0, index);
  features_.push_back(spec_.features == RoutingSpec::Features::kQk
                          ? chosen.view({rows, routers, -1}).transpose(0, 1).contiguous()
                          : chosen.unsqueeze(0).expand({routers, rows, chosen.size(1)}));
}

RouterBatch TargetCollector::finish() const { return {at::stack(features_), at::stack(mass_)}; }

}  // namespace focus
