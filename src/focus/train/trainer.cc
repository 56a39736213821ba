#include "focus/train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>

#include "focus/base/error.h"
#include "focus/nn/attention_mass.h"
#include "focus/nn/learned_router.h"
#include "focus/plan/plan.h"
#include "focus/train/far_mass_targets.h"
#include "focus/train/key_calibration.h"
#include "focus/train/query_training.h"
#include "focus/train/read_budget.h"

namespace focus {
namespace {

// Share of the cost that is fitted: other texts fill the groups a little differently.
constexpr double kFitMargin = 0.97;
// Of the minutes: what calibration may take once its sample is full.
constexpr double kCalibrationShare = 0.3;
constexpr int64_t kLeastFitWindows = 4;
constexpr int64_t kKeysPerGroup = 256;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// One run: the windows come by a running number, so that no window is seen twice and every seed
// gives its own stream.
class Run {
 public:
  Run(const Decoder& decoder, const TokenWindows& windows, const BaseIdentity& base,
      const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress,
      const std::atomic<bool>& stop)
      : decoder_(decoder),
        windows_(windows),
        base_(base),
        options_(options),
        progress_(progress),
        stop_(stop) {
    if (options_.calibration_windows == 0) {
      options_.calibration_windows = std::max<int64_t>(
          32, (kKeysPerGroup * options.spec.groups + windows.tokens() - 1) / windows.tokens());
    }
    total_ = options_.calibration_windows + options_.fit_windows;
    if (!options.spec.tied) total_ += options.steps + options.heldout_windows;
  }

  TrainResult run() {
    TrainResult result;
    calibrate();
    if (!options_.spec.tied) train(result);
    fit(result);
    result.seconds = seconds_since(start_);
    result.step_over_forward = forward_.empty() ? 0 : median(step_) / median(forward_);
    result.interrupted = stop_;
    result.calibration_windows = calibration_windows_;
    return result;
  }

 private:
  std::vector<int32_t> next_window() {
    const uint64_t seed = options_.seed * 1000003 + static_cast<uint64_t>(done_);
    auto window = windows_.random(seed);
    if (done_ % 2 == 1) plant_copy(window, seed);
    return window;
  }

  // A dense forward pass over the window; `see` is called in each layer.
  void forward(const std::vector<int32_t>& window,
               const std::function<void(const LayerInputs&)>& see) const {
    MaskedAttention dense({.name = "dense", .rule = Rule::dense(), .router = nullptr});
    auto cache = decoder_.new_cache();
    decoder_.forward(window, cache, [&](const LayerInputs& inputs, LayerCache& layer) {
      if (see) see(inputs);
      return dense(inputs, layer);
    });
  }

  double minutes_used() const { return seconds_since(start_) / 60; }

  void report(const char* phase, TrainProgress extra = {}) {
    ++done_;
    extra.phase = phase;
    extra.done = done_;
    extra.total = total_;
    if (progress_) progress_(extra);
  }

  void calibrate() {
    KeyCalibration calibration(options_.spec, base_.shape, windows_.tokens(),
                               {.seed = options_.seed,
                                .windows = options_.calibration_windows,
                                .skip = options_.rule.sinks});
    for (int64_t n = 0; n < options_.calibration_windows; ++n) {
      if (stop_) {
        throw Error(ErrorKind::kState, "training", "to run until the key groups stand",
                    "an interrupt before that", "nothing was saved");
      }
      forward(next_window(), [&](const LayerInputs& inputs) { calibration.observe(inputs); });
      calibration.end_window();
      report("calibrate");
      if (calibration.ready() && minutes_used() > kCalibrationShare * options_.minutes) break;
    }
    layers_ = calibration.finish();
    calibration_windows_ = done_;
    if (options_.spec.balance == RoutingSpec::Balance::kRunning &&
        options_.spec.balance_rate == 0) {
      // A surplus of one per cent of a window moves a score by its own spread.
      options_.spec.balance_rate =
          calibration.score_spread() * 100 / static_cast<double>(windows_.tokens());
    }
  }

  RouterBatch batch(const LearnedRouter& router, const std::vector<int32_t>& window) const {
    TargetCollector collector(options_.spec, base_.shape, options_.rule,
                              sample_rows(windows_.tokens(), options_.rows,
                                          options_.seed + static_cast<uint64_t>(done_)));
    forward(window, [&](const LayerInputs& inputs) {
      GroupSets keys;
      router.route_keys(inputs, keys);
      collector.observe(inputs, keys);
    });
    return collector.finish();
  }

  void train(TrainResult& result) {
    const LearnedRouter router(options_.spec, base_.shape,
                               layers_);  // its key side is fixed from here on
    std::vector<RouterBatch> heldout;
    for (int64_t n = 0; n < options_.heldout_windows && !stop_; ++n) {
      heldout.push_back(batch(router, next_window()));
      report("train");
    }
    const auto heldout_loss = [&](const QueryTraining& training) {
      double sum = 0;
      for (const auto& one : heldout) sum += training.loss(one);
      return sum / static_cast<double>(heldout.size());
    };
    QueryTraining training(layers_,
                           {.learning_rate = options_.learning_rate, .steps = options_.steps});
    for (int64_t step = 0; step < options_.steps && !stop_; ++step) {
      const auto window = next_window();
      // The reads take about as long a window as a step does.
      const double left = (options_.minutes - minutes_used()) * 60;
      if (!step_.empty() && left < median(step_) * static_cast<double>(options_.fit_windows + 1))
        break;
      if (step % 16 == 0) {
        const auto begin = Clock::now();
        forward(window, {});
        forward_.push_back(seconds_since(begin));
      }
      const auto begin = Clock::now();
      TrainProgress now{};
      now.loss = training.step(batch(router, window));
      step_.push_back(seconds_since(begin));
      now.step = step;
      if (step % 10 == 0 && !heldout.empty()) now.heldout_loss = heldout_loss(training);
      report("train", now);
      ++result.steps_done;
    }
    training.store(layers_);
  }

  void fit(TrainResult& result) {
    const RoutingSpec& spec = options_.spec;
    const LearnedRouter router(spec, base_.shape, layers_);
    ReadCurves curves(spec, base_.shape, options_.rule, windows_.tokens());
    done_ = std::max(done_, total_ - options_.fit_windows);
    for (int64_t n = 0; n < options_.fit_windows &&
                        (n < kLeastFitWindows || (!stop_ && minutes_used() < options_.minutes));
         ++n) {
      const auto rows = sample_rows(windows_.tokens(), options_.rows,
                                    options_.seed + static_cast<uint64_t>(done_));
      forward(next_window(), [&](const LayerInputs& inputs) {
        GroupSets keys;
        router.route_keys(inputs, keys);
        curves.observe(inputs, keys, router.query_scores(inputs), rows);
      });
      report("fit");
      ++result.fit_windows;
    }
    auto reads = curves.uniform(static_cast<int32_t>(spec.members));
    if (spec.read != RoutingSpec::Read::kMass && !spec.tied) {
      const double cost = kFitMargin * options_.cost;
      reads = spec.read == RoutingSpec::Read::kBudget ? curves.fit(cost) : curves.fit_uniform(cost);
    }
    for (size_t n = 0; n < layers_.size(); ++n) layers_[n].reads = reads[n];
    result.pairs = curves.pairs(reads);
    result.cost = curves.cost(reads);
    result.adapter = {
        .base = base_, .spec = spec, .rule = options_.rule, .layers = layers_, .calibration = {}};
  }

  const Decoder& decoder_;
  const TokenWindows& windows_;
  const BaseIdentity& base_;
  TrainOptions options_;
  const std::function<void(const TrainProgress&)>& progress_;
  const std::atomic<bool>& stop_;
  Clock::time_point start_ = Clock::now();
  int64_t done_ = 0, total_ = 0, calibration_windows_ = 0;
  std::vector<LayerRouting> layers_;
  std::vector<double> step_, forward_;
};

}  // namespace

void check_budget(const TrainOptions& options, int64_t tokens) {
  if (options.spec.tied || options.spec.read == RoutingSpec::Read::kMass)
    return;  // reads are not fitted
  const double least = near_share(options.rule, tokens) / kFitMargin;
  if (options.cost >= least) return;
  throw Error(ErrorKind::kUsage, "--cost",
              "at least " + std::to_string(least) + " (window " +
                  std::to_string(options.rule.window) + " + " + std::to_string(options.rule.sinks) +
                  " sinks alone, at T = " + std::to_string(tokens) + ")",
              std::to_string(options.cost), "raise --cost or --tokens, or lower --window");
}

TrainResult train_adapter(const Decoder& decoder, const TokenWindows& windows,
                          const BaseIdentity& base, const TrainOptions& options,
                          const std::function<void(const TrainProgress&)>& progress,
                          const std::atomic<bool>& stop) {
  check_budget(options, windows.tokens());
  const at::NoGradGuard frozen;
  return Run(decoder, windows, base, options, progress, stop).run();
}

}  // namespace focus
