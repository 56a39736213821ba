#include "focus/eval/evaluate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "focus/base/error.h"
#include "focus/eval/far_mass.h"
#include "focus/eval/rivals.h"
#include "focus/eval/scoring.h"
#include "focus/nn/attention_mass.h"
#include "focus/nn/masked_attention.h"

namespace focus {
namespace {

double mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class Evaluation {
 public:
  Evaluation(const Decoder& decoder, const TokenWindows& windows, const EvalOptions& options,
             const std::function<void(int64_t, int64_t)>& progress,
             const std::atomic<bool>& interrupted)
      : decoder_(decoder), options_(options), progress_(progress), interrupted_(interrupted) {
    for (int64_t text = 0; text < windows.texts(); ++text) {
      for (int64_t n = 0; n < std::min(options.windows, windows.count(text)); ++n)
        plain_.push_back(windows.side_by_side(text, n));
    }
    // Copy windows go round the texts, so that each gives about as many; passages repeat only when
    // windows run out.
    for (int64_t n = 0; n < options.copy_windows; ++n) {
      const int64_t text = n % windows.texts();
      copies_.push_back(with_copied_passage(
          windows.side_by_side(text, n / windows.texts() % windows.count(text))));
    }
  }

  void expect(int64_t rows, int64_t far_mass_passes) {
    total_ = (rows + far_mass_passes) * windows() + rows * copy_windows();
  }

  // Perplexity, copy and pairs of one mask.
  EvalRow row(MaskedAttention& attention, double scoring, bool groups) {
    EvalRow row{.mask = attention.mask().name};
    std::vector<double> nll, effective;
    for (const auto& window : plain_) {
      auto cache = decoder_.new_cache();
      const auto one = score(window, cache, attention);
      nll.insert(nll.end(), one.begin(), one.end());
      if (groups) effective.push_back(effective_in(cache));
    }
    row.pairs = attention.pairs().share();
    row.cost = row.pairs + scoring;
    row.perplexity = std::exp(mean(nll));
    if (groups) row.effective_groups = mean(effective);
    MaskedAttention unseen(attention.mask());  // pairs are those of the plain windows
    std::vector<double> copied;
    for (const auto& window : copies_) {
      auto cache = decoder_.new_cache();
      copied.push_back(copied_nll(score(window, cache, unseen)));
    }
    row.copy_nats = mean(copied);
    return row;
  }

  FarMass far_mass(const std::vector<Mask>& masks, const Rule& near) {
    const auto& config = decoder_.config();
    FarMass mass(masks, near, config.layers, config.heads);
    for (size_t n = 0; n < plain_.size(); ++n) {
      const auto rows = sample_rows(static_cast<int64_t>(plain_[n].size()), options_.far_mass_rows,
                                    options_.seed + n);
      auto cache = decoder_.new_cache();
      MaskedAttention dense({"dense", Rule::dense(), nullptr});
      decoder_.forward(plain_[n], cache, [&](const LayerInputs& inputs, LayerCache& layer) {
        mass.observe(inputs, rows);
        return dense(inputs, layer);
      });
      step();
    }
    return mass;
  }

  int64_t windows() const { return static_cast<int64_t>(plain_.size()); }
  int64_t copy_windows() const { return static_cast<int64_t>(copies_.size()); }

 private:
  void step() {
    if (interrupted_)
      throw Error(ErrorKind::kState, "evaluation", "to run to its end", "an interrupt");
    if (progress_) progress_(++done_, total_);
  }
  std::vector<double> score(const std::vector<int32_t>& window, KvCache& cache,
                            MaskedAttention& attention) {
    auto nll = token_nll(
        decoder_, window, cache,
        [&](const LayerInputs& inputs, LayerCache& layer) { return attention(inputs, layer); });
    step();
    return nll;
  }
  static double effective_in(KvCache& cache) {
    std::vector<double> values;
    for (int64_t layer = 0; layer < cache.layers(); ++layer) {
      const auto& keys = cache.layer(layer).key_sets;
      for (int64_t h = 0; h < keys.heads(); ++h) {
        // A head whose keys are never sorted has none.
        if (const double groups = effective_groups(keys.group_sizes(h)); groups > 0)
          values.push_back(groups);
      }
    }
    return mean(values);
  }

  const Decoder& decoder_;
  const EvalOptions& options_;
  const std::function<void(int64_t, int64_t)>& progress_;
  const std::atomic<bool>& interrupted_;
  std::vector<std::vector<int32_t>> plain_, copies_;
  int64_t done_ = 0, total_ = 0;
};

int64_t percentile(const std::vector<int64_t>& histogram, double share) {
  const auto total =
      static_cast<double>(std::accumulate(histogram.begin(), histogram.end(), int64_t{0}));
  double seen = 0;
  for (size_t n = 0; n < histogram.size(); ++n) {
    seen += static_cast<double>(histogram[n]);
    if (seen >= share * total) return static_cast<int64_t>(n);
  }
  return 0;
}

double mean_of(const std::vector<int64_t>& histogram) {
  double total = 0, sum = 0;
  for (size_t n = 0; n < histogram.size(); ++n) {
    total += static_cast<double>(histogram[n]);
    sum += static_cast<double>(n) * static_cast<double>(histogram[n]);
  }
  return sum / total;
}

}  // namespace

EvalResult evaluate(const Decoder& decoder, const Adapter* adapter, const TokenWindows& windows,
                    const EvalOptions& options,
                    const std::function<void(int64_t, int64_t)>& progress,
                    const std::atomic<bool>& interrupted) {
  const at::NoGradGuard frozen;
  Evaluation evaluation(decoder, windows, options, progress, interrupted);
  EvalResult result{.windows = evaluation.windows(), .copy_windows = evaluation.copy_windows()};
  MaskedAttention dense({"dense", Rule::dense(), nullptr});
  if (adapter == nullptr) {
    evaluation.expect(1, 0);
    result.rows.push_back(evaluation.row(dense, 0, false));
    return result;
  }
  evaluation.expect(4, 1);
  const int64_t tokens = windows.tokens();
  MaskedAttention ours(adapter->mask("adapter"));
  const EvalRow last = evaluation.row(ours, adapter->scoring(tokens), true);
  result.kept_keys_p99 = percentile(ours.kept_histogram(), 0.99);
  result.kept_keys_mean = mean_of(ours.kept_histogram());
  MaskedAttention window(window_of_cost(last.cost, adapter->rule.sinks, tokens));
  MaskedAttention random(random_of_cost(last.cost, adapter->rule, adapter->base.shape,
                                        adapter->spec.groups, tokens, options.seed));
  result.rows = {evaluation.row(dense, 0, false), evaluation.row(window, 0, false),
                 evaluation.row(random, 0, true), last};
  const auto mass =
      evaluation.far_mass({dense.mask(), window.mask(), random.mask(), ours.mask()}, adapter->rule);
  for (size_t n = 0; n < result.rows.size(); ++n) {
    if (const double kept = mass.kept(n); std::isfinite(kept)) result.rows[n].far_mass = kept;
  }
  result.far_mass_by_head = mass.kept_by_head(3);
  result.far_by_head = mass.far_by_head();
  return result;
}

}  // namespace focus
