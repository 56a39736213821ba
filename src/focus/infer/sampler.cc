#include "focus/infer/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "focus/base/error.h"

namespace focus {

void SamplingOptions::check() const {
  if (!(temperature >= 0) || !std::isfinite(temperature)) {
    throw Error(ErrorKind::kUsage, "temperature", "0 or more", std::to_string(temperature));
  }
  if (top_k < 0) throw Error(ErrorKind::kUsage, "top-k", "0 (all) or more", std::to_string(top_k));
  if (!(top_p > 0 && top_p <= 1))
    throw Error(ErrorKind::kUsage, "top-p", "above 0, at most 1", std::to_string(top_p));
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {
  options.check();
}

int32_t Sampler::next(std::span<const float> logits) {
  for (float x : logits) {
    if (std::isnan(x)) {
      throw Error(ErrorKind::kNumeric, "logits", "numbers", "NaN",
                  "the model's activations are not finite: try --dtype f32");
    }
  }
  if (options_.temperature == 0 || options_.top_k == 1) {
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  size_t kept = order.size();
  if (options_.top_k > 0) kept = std::min(kept, static_cast<size_t>(options_.top_k));
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(kept), order.end(), better);
  std::vector<double> weight(kept);
  double total = 0;
  for (size_t n = 0; n < kept; ++n) {
    weight[n] =
        std::exp((static_cast<double>(logits[order[n]]) - logits[order[0]]) / options_.temperature);
    total += weight[n];
  }
  double reached = 0;
  for (size_t n = 0; n < kept; ++n) {
    reached += weight[n];
    if (reached >= options_.top_p * total) {
      kept = n + 1;
      total = reached;
    }
  }
  double left = random_.uniform() * total;
  for (size_t n = 0; n + 1 < kept; ++n) {
    left -= weight[n];
    if (left < 0) return order[n];
  }
  return order[kept - 1];
}

}  // namespace focus
