#include "focus/train/read_budget.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <queue>

#include "focus/kernels/routing/score_rows.h"
#include "focus/nn/attention_mass.h"
#include "focus/ops/threads.h"

namespace focus {

ReadCurves::ReadCurves(const RoutingSpec& spec, const RoutingShape& shape, const Rule& rule,
                       int64_t window_tokens)
    : spec_(spec),
      shape_(shape),
      rule_(rule),
      tokens_(window_tokens),
      curves_(shape.layers * shape.query_routers(spec)) {
  for (Curve& curve : curves_) {
    curve.gain.assign(spec.groups + 1, 0);
    curve.pairs.assign(spec.groups + 1, 0);
  }
}

void ReadCurves::observe(const LayerInputs& inputs, const GroupSets& keys, const at::Tensor& scores,
                         const std::vector<int64_t>& rows) {
  const auto probabilities = attention_probabilities(inputs, rows);
  const int64_t heads = probabilities.size(0), tokens = probabilities.size(2),
                groups = spec_.groups;
  const int64_t count = static_cast<int64_t>(rows.size()), routers = scores.size(1),
                per_router = heads / routers;
  const float* p = probabilities.const_data_ptr<float>();
  const float* score = scores.const_data_ptr<float>();
  torch_parallel()(routers, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> order(groups), rank(groups);
    std::vector<double> mass(groups + 1), pairs(groups + 1);
    for (int64_t router = begin; router < end; ++router) {
      Curve& curve = curves_[inputs.layer * routers + router];
      for (int64_t n = 0; n < count * per_router; ++n) {
        const int64_t head = router * per_router + n / count, query = rows[n % count];
        const float* row = p + (head * count + n % count) * tokens;
        rank_groups(score + (query * routers + router) * groups, groups, order.data());
        for (int64_t place = 0; place < groups; ++place)
          rank[order[place]] = static_cast<int32_t>(place);
        std::fill(mass.begin(), mass.end(), 0.0);
        std::fill(pairs.begin(), pairs.end(), 0.0);
        const int64_t key_router = keys.heads() == 1 ? 0 : head / (heads / keys.heads());
        const int64_t near =
            query < rule_.dense_until ? 0 : std::max<int64_t>(0, query - rule_.window);
        double kept = 0;
        for (int64_t j = 0; j <= query; ++j) {
          if (j >= near || j < rule_.sinks) {
            kept += row[j];
            pairs[0] += 1;
            continue;
          }
          // A key of several groups comes with the first of them that is read.
          int32_t first = static_cast<int32_t>(groups);
          const auto set = keys.set(j, key_router);
          for (int64_t w = 0; w < keys.words(); ++w) {
            for (uint64_t rest = set[w]; rest != 0; rest &= rest - 1)
              first = std::min(first, rank[w * 64 + __builtin_ctzll(rest)]);
          }
          if (first < groups) {
            mass[first + 1] += row[j];
            pairs[first + 1] += 1;
          }
        }
        double keys_kept = 0;
        for (int64_t r = 0; r <= groups; ++r) {
          kept += mass[r];
          keys_kept += pairs[r];
          curve.gain[r] -= (1 - kept) * (1 - kept);
          curve.pairs[r] += keys_kept;
        }
        ++curve.rows;
      }
    }
  });
  if (inputs.layer == 0) {
    for (int64_t query : rows) causal_ += static_cast<double>(query + 1);
    causal_rows_ += count;
  }
}

std::vector<std::vector<int32_t>> ReadCurves::fit(double cost) const {
  const int64_t routers = shape_.query_routers(spec_), keys = shape_.key_routers(spec_),
                per_key = routers / keys;
  const double query_scoring = router_pairs(spec_, shape_, shape_.query_width(spec_)) *
                               static_cast<double>(routers) / static_cast<double>(shape_.heads);
  const double key_scoring = router_pairs(spec_, shape_, shape_.key_width(spec_)) *
                             static_cast<double>(routers) / static_cast<double>(shape_.heads);
  auto reads = uniform(0);
  struct Step {
    double slope, pairs;
    int64_t router;
    int32_t reads;
    bool operator<(const Step& other) const {
      return slope != other.slope ? slope < other.slope : router > other.router;
    }
  };
  // The best next corner of a router's concave hull; a key router's scoring is shared by its query
  // routers.
  const auto next = [&](int64_t router, int32_t from) {
    const Curve& curve = curves_[router];
    const double rows = static_cast<double>(curve.rows);
    const double scoring =
        from == 0 ? query_scoring + key_scoring / static_cast<double>(per_key) : 0;
    Step best{0, 0, router, from};
    for (int32_t r = from + 1; r <= spec_.groups; ++r) {
      const double added = (curve.pairs[r] - curve.pairs[from]) / rows,
                   gained = (curve.gain[r] - curve.gain[from]) / rows;
      const double slope = gained / std::max(added + scoring, 1e-9);
      if (slope > best.slope) best = {slope, added, router, r};
    }
    return best;
  };
  std::vector<bool> scored(shape_.layers * keys, false);
  double left = cost * causal() * static_cast<double>(curves_.size());
  std::priority_queue<Step> queue;
  for (size_t n = 0; n < curves_.size(); ++n) {
    left -= curves_[n].pairs[0] / static_cast<double>(curves_[n].rows);
    queue.push(next(static_cast<int64_t>(n), 0));
  }
  while (!queue.empty()) {
    const Step step = queue.top();
    queue.pop();
    if (step.slope <= 0) break;
    auto& read = reads[step.router / routers][step.router % routers];
    const int64_t key_router = step.router / per_key;
    double price = step.pairs;
    if (read == 0) price += query_scoring + (scored[key_router] ? 0 : key_scoring);
    // Steps come in order of worth: what follows the first that does not fit is worth less.
    if (price > left) break;
    left -= price;
    read = step.reads;
    scored[key_router] = true;
    if (step.reads < spec_.groups) queue.push(next(step.router, step.reads));
  }
  return reads;
}

std::vector<std::vector<int32_t>> ReadCurves::uniform(int32_t reads) const {
  return std::vector<std::vector<int32_t>>(
      shape_.layers, std::vector<int32_t>(shape_.query_routers(spec_), reads));
}

double ReadCurves::pairs(const std::vector<std::vector<int32_t>>& reads) const {
  const int64_t routers = shape_.query_routers(spec_);
  double kept = 0;
  for (size_t n = 0; n < curves_.size(); ++n) {
    kept +=
        curves_[n].pairs[reads[n / routers][n % routers]] / static_cast<double>(curves_[n].rows);
  }
  return kept / static_cast<double>(curves_.size()) / causal();
}

double ReadCurves::cost(const std::vector<std::vector<int32_t>>& reads) const {
  return pairs(reads) + scoring_cost(spec_, shape_, reads, tokens_);
}

std::vector<std::vector<int32_t>> ReadCurves::fit_uniform(double wanted) const {
  int32_t best = 0;
  while (best < spec_.groups && cost(uniform(best + 1)) <= wanted) ++best;
  return uniform(best);
}

}  // namespace focus
