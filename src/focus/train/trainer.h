// From a frozen model and text to an adapter: calibrate the key groups, train the query side, fit
// the reads.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "focus/nn/adapter.h"
#include "focus/nn/decoder.h"
#include "focus/text/token_windows.h"

namespace focus {

struct TrainOptions {
  RoutingSpec spec;
  Rule rule{.window = 64, .sinks = 4};
  double cost = 0.25;  // budget of pairs + scoring at the windows' length
  uint64_t seed = 0;
  int64_t calibration_windows = 0;  // 0: 32, or more where groups would get fewer than 256 keys
  int64_t steps = 120;
  int64_t rows = 64;  // query rows sampled of a window
  int64_t fit_windows = 16;
  int64_t heldout_windows = 4;
  double learning_rate = 1e-2;
  double minutes = 10;  // training stops early to end by then; the reads are always fitted
};

struct TrainProgress {
  const char* phase;    // "calibrate", "train", "fit"
  int64_t done, total;  // windows of all phases
  std::optional<double> loss, heldout_loss;
  int64_t step = 0;  // training step the losses belong to
};

struct TrainResult {
  Adapter adapter;
  double pairs = 0, cost = 0;  // on the fitting windows
  double seconds = 0;
  double step_over_forward =
      0;  // median time of a training step over that of a plain dense forward
  int64_t calibration_windows = 0, steps_done = 0, fit_windows = 0;  // that ran
  bool interrupted = false;
};

// Error(kUsage) when window and sinks alone fill the cost: cheap, for before the weights are read.
// train_adapter calls it too.
void check_budget(const TrainOptions& options, int64_t tokens);

// Throws Error(kState) when `stop` is set before the key groups stand; after that a stop ends
// training early and the adapter is finished with what has been learned. Windows with an odd number
// carry a repeated passage.
TrainResult train_adapter(const Decoder& decoder, const TokenWindows& windows,
                          const BaseIdentity& base, const TrainOptions& options,
                          const std::function<void(const TrainProgress&)>& progress,
                          const std::atomic<bool>& stop);

}  // namespace focus
