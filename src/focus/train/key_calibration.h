// Key groups from streamed calibration text: projection, k-means centroids, thresholds and
// potentials.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "focus/nn/layer_inputs.h"
#include "focus/nn/routing.h"

namespace focus {

struct KeyCalibrationOptions {
  uint64_t seed = 0;
  int64_t windows = 32;          // that will come; at most half of them fill the sample
  int64_t sample_tokens = 4096;  // kept in full to start from, at most
  int64_t sample_bytes = int64_t{512} << 20;  // ... and at most this much memory
  int64_t lloyd_rounds = 10;                  // over the sample, before the stream
  int64_t skip = 4;                           // first positions of a window, left out (the sinks)
};

// All layers in one pass over windows; memory does not grow with the text. First the sample fills:
// the top directions of its covariance give the projection, a k-means++ start and Lloyd rounds the
// centroids. Then every window refines the centroids by mini-batch k-means; groups that have
// had no key yet are re-seeded with the farthest. Same seed, windows and threads: same bytes.
class KeyCalibration {
 public:
  // Error(kUsage) when the windows are too few or too short for the groups.
  KeyCalibration(const RoutingSpec& spec, const RoutingShape& shape, int64_t window_tokens,
                 const KeyCalibrationOptions& options);

  // Once a layer and window, in order.
  void observe(const LayerInputs& inputs);
  // After the last layer of each window.
  void end_window();
  // The sample is full: finish() may be called.
  bool ready() const { return filled_ >= sample_size_; }
  // Key side of every layer; query side set to read the same features. Error(kState) before the
  // sample is full.
  std::vector<LayerRouting> finish();
  // Spread of the key scores of an average layer: the scale of Balance::kRunning's rate.
  double score_spread() const { return score_spread_; }

 private:
  struct LayerState {
    at::Tensor sample;      // [routers, sample, width], later [routers, sample, rank]
    at::Tensor projection;  // [routers, rank, width]
    at::Tensor centroids;   // [routers, groups, rank]
    at::Tensor counts;      // [routers, groups]
  };
  at::Tensor key_source(const LayerInputs& inputs) const;  // [routers, n, width]
  at::Tensor query_projection(const at::Tensor& projection) const;
  void start(LayerState& layer, int64_t index);
  void refine(LayerState& layer, const at::Tensor& features);

  RoutingSpec spec_;
  RoutingShape shape_;
  KeyCalibrationOptions options_;
  int64_t per_window_, sample_size_, filled_ = 0;
  std::vector<LayerState> layers_;
  double score_spread_ = 0;
};

}  // namespace focus
