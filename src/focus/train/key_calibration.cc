#include "focus/train/key_calibration.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "focus/base/error.h"
#include "focus/base/random.h"

namespace focus {
namespace {

// Squared distance of each feature to each centroid, up to the feature's own norm, negated: x . c -
// |c|^2 / 2.
at::Tensor nearness(const at::Tensor& features, const at::Tensor& centroids) {
  return at::baddbmm(centroids.square().sum(-1).mul(-0.5).unsqueeze(1), features,
                     centroids.transpose(1, 2));
}

// Sum of the features of each group [R, G, r] and their number [R, G].
std::pair<at::Tensor, at::Tensor> group_sums(const at::Tensor& features, const at::Tensor& groups,
                                             int64_t count) {
  const auto members = at::zeros({features.size(0), features.size(1), count}, at::kFloat)
                           .scatter_(2, groups.unsqueeze(2), 1);
  return {at::bmm(members.transpose(1, 2), features), members.sum(1)};
}

// k-means++: each centre drawn with probability proportional to the squared distance to those
// before it.
at::Tensor plus_plus(const at::Tensor& features, int64_t groups, Random& random) {
  const int64_t n = features.size(0), width = features.size(1);
  const float* x = features.const_data_ptr<float>();
  auto centres = at::empty({groups, width}, at::kFloat);
  float* c = centres.data_ptr<float>();
  std::vector<double> distance(n, std::numeric_limits<double>::max());
  int64_t chosen = random.below(n);
  for (int64_t g = 0;; ++g) {
    std::copy(x + chosen * width, x + (chosen + 1) * width, c + g * width);
    if (g + 1 == groups) return centres;
    double total = 0;
    for (int64_t i = 0; i < n; ++i) {
      float squares = 0;
      for (int64_t d = 0; d < width; ++d) {
        const float difference = x[i * width + d] - c[g * width + d];
        squares += difference * difference;
      }
      distance[i] = std::min(distance[i], static_cast<double>(squares));
      total += distance[i];
    }
    double left = random.uniform() * total;
    chosen = n - 1;
    for (int64_t i = 0; i < n; ++i) {
      left -= distance[i];
      if (left < 0) {
        chosen = i;
        break;
      }
    }
  }
}

// The top eigenvectors as rows, each with its largest entry positive, so that the sign is not the
// solver's choice.
at::Tensor top_directions(const at::Tensor& moment, int64_t rank) {
  const auto [values, vectors] = at::linalg_eigh(moment);
  auto top = vectors.narrow(1, vectors.size(1) - rank, rank).flip({1}).t().contiguous();
  const auto largest = top.gather(1, top.abs().argmax(1, true));
  return top * largest.sign();
}

// Potentials [G] that even out the top groups of scores [n, G], not their soft mass: steps against
// each group's surplus, from the spread of the scores down to a small part of it, since neighbours
// may differ by little.
at::Tensor balancing_potential(const at::Tensor& scores, int64_t members) {
  const int64_t groups = scores.size(1);
  const double share = static_cast<double>(members) / static_cast<double>(groups);
  auto step = scores.std(-1).mean();
  auto potential = at::zeros({groups}, at::kFloat);
  for (int64_t round = 0; round < 300; ++round) {
    const auto chosen = std::get<1>((scores + potential).topk(members, -1));
    const auto load = at::bincount(chosen.flatten(), {}, groups).to(at::kFloat) /
                      static_cast<double>(scores.size(0));
    potential += step * (1 - load / share).clamp(-1, 1);
    step = step * 0.97;
  }
  return potential;
}

}  // namespace

KeyCalibration::KeyCalibration(const RoutingSpec& spec, const RoutingShape& shape,
                               int64_t window_tokens, const KeyCalibrationOptions& options)
    : spec_(spec), shape_(shape), options_(options), layers_(shape.layers) {
  spec.check();
  const int64_t routers = shape.key_routers(spec), width = shape.key_width(spec);
  if (spec.rank > width ||
      (spec.features == RoutingSpec::Features::kQk && spec.rank > shape.query_width(spec))) {
    throw Error(ErrorKind::kUsage, "rank",
                "at most " + std::to_string(width) + " (the width of the routed features)",
                std::to_string(spec.rank));
  }
  const int64_t token_bytes = shape.layers * routers * width * 4;
  const int64_t wanted = std::max(options.sample_tokens, 8 * spec.groups);
  const int64_t fits = std::max(options.sample_bytes / token_bytes, 2 * spec.groups);
  // Half of a window's positions, so that the sample holds several texts.
  per_window_ = std::max<int64_t>(1, (window_tokens - options.skip) / 2);
  const int64_t sample_windows = std::min((std::min(wanted, fits) + per_window_ - 1) / per_window_,
                                          std::max<int64_t>(1, options.windows / 2));
  sample_size_ = sample_windows * per_window_;
  if (sample_size_ < 2 * spec.groups) {
    throw Error(ErrorKind::kUsage, "calibration",
                "at least " + std::to_string(2 * spec.groups) + " sampled keys for " +
                    std::to_string(spec.groups) + " groups",
                std::to_string(sample_size_),
                "raise --calibration-windows or --tokens, or lower --groups");
  }
  for (LayerState& layer : layers_) {
    layer.sample = at::empty({routers, sample_size_, width}, at::kFloat);
  }
}

at::Tensor KeyCalibration::key_source(const LayerInputs& inputs) const {
  if (spec_.features == RoutingSpec::Features::kInput) {
    return inputs.x.unsqueeze(0).expand(
        {shape_.key_routers(spec_), inputs.x.size(0), inputs.x.size(1)});
  }
  return inputs.k_raw.view({inputs.k_raw.size(0), shape_.key_routers(spec_), -1}).transpose(0, 1);
}

void KeyCalibration::observe(const LayerInputs& inputs) {
  LayerState& layer = layers_[inputs.layer];
  // The first tokens are kept by every query anyway, and their keys are unlike all others.
  const auto keys = key_source(inputs).slice(1, std::min(options_.skip, inputs.k.size(0) - 1));
  if (filled_ >= sample_size_) {
    refine(layer, at::bmm(keys, layer.projection.transpose(1, 2)));
    return;
  }
  const int64_t step = std::max<int64_t>(1, keys.size(1) / per_window_);
  layer.sample.narrow(1, filled_, per_window_)
      .copy_(keys.slice(1, 0, std::nullopt, step).narrow(1, 0, per_window_));
}

void KeyCalibration::end_window() {
  if (filled_ >= sample_size_) return;
  filled_ += per_window_;
  if (filled_ < sample_size_) return;
  for (size_t n = 0; n < layers_.size(); ++n) start(layers_[n], static_cast<int64_t>(n));
}

void KeyCalibration::start(LayerState& layer, int64_t index) {
  const int64_t routers = layer.sample.size(0);
  std::vector<at::Tensor> projections;
  for (int64_t r = 0; r < routers; ++r) {
    const auto centred = layer.sample[r] - layer.sample[r].mean(0, true);
    projections.push_back(top_directions(at::matmul(centred.t(), centred), spec_.rank));
  }
  layer.projection = at::stack(projections);
  const auto features = at::bmm(layer.sample, layer.projection.transpose(1, 2)).contiguous();
  std::vector<at::Tensor> centres;
  for (int64_t r = 0; r < routers; ++r) {
    Random random(options_.seed + 1 + static_cast<uint64_t>(index * routers + r));
    centres.push_back(plus_plus(features[r], spec_.groups, random));
  }
  layer.centroids = at::stack(centres);
  layer.counts = at::zeros({routers, spec_.groups}, at::kFloat);
  for (int64_t r = 0; r < routers; ++r) {  // one at a time: [sample, groups] is the largest tensor
    const auto own = features.narrow(0, r, 1);
    const auto centroids = layer.centroids.narrow(0, r, 1);
    for (int64_t round = 0; round < options_.lloyd_rounds; ++round) {
      const auto [sums, counts] =
          group_sums(own, nearness(own, centroids).argmax(-1), spec_.groups);
      const auto occupied = counts.unsqueeze(-1) > 0;
      centroids.copy_(at::where(occupied, sums / counts.unsqueeze(-1).clamp_min(1), centroids));
      layer.counts.narrow(0, r, 1).copy_(counts);
    }
  }
  layer.sample = features;  // thresholds and potentials need no more than these
}

void KeyCalibration::refine(LayerState& layer, const at::Tensor& features) {
  const auto near = nearness(features, layer.centroids);
  const auto [best, groups] = near.max(-1);
  const auto [sums, counts] = group_sums(features, groups, spec_.groups);
  const auto total = layer.counts + counts;
  layer.centroids +=
      (sums - counts.unsqueeze(-1) * layer.centroids) / total.unsqueeze(-1).clamp_min(1);
  layer.counts = total;
  const auto empty = total.eq(0);
  if (!empty.any().item<bool>()) return;
  const auto farthest = (features.square().sum(-1) * 0.5 - best).argsort(-1, true);  // [R, n]
  for (int64_t r = 0; r < empty.size(0); ++r) {
    int64_t next = 0;
    for (int64_t g = 0; g < spec_.groups && next < features.size(1); ++g) {
      if (!empty[r][g].item<bool>()) continue;
      layer.centroids[r][g].copy_(features[r][farthest[r][next++].item<int64_t>()]);
      layer.counts[r][g].fill_(1);
    }
  }
}

at::Tensor KeyCalibration::query_projection(const at::Tensor& projection) const {
  const int64_t width = shape_.query_width(spec_);
  if (width == projection.size(2)) return projection;
  // One router over all heads side by side: a query head meets the keys of its KV head.
  return projection.view({1, spec_.rank, shape_.kv_heads, 1, shape_.head_dim})
      .expand({1, spec_.rank, shape_.kv_heads, shape_.heads / shape_.kv_heads, shape_.head_dim})
      .reshape({1, spec_.rank, width});
}

std::vector<LayerRouting> KeyCalibration::finish() {
  if (filled_ < sample_size_) {
    throw Error(
        ErrorKind::kState, "calibration",
        std::to_string((sample_size_ + per_window_ - 1) / per_window_) + " windows at least",
        std::to_string(filled_ / per_window_), "give more calibration windows");
  }
  const double share = static_cast<double>(spec_.members) / static_cast<double>(spec_.groups);
  std::vector<LayerRouting> result;
  double spread = 0;
  for (LayerState& layer : layers_) {
    LayerRouting out;
    auto bias = layer.centroids.square().sum(-1) * -0.5;  // [R, G]
    for (int64_t r = 0; r < bias.size(0); ++r) {
      const auto scores =
          nearness(layer.sample.narrow(0, r, 1), layer.centroids.narrow(0, r, 1))[0];
      spread += scores.std(-1).mean().item<double>() / static_cast<double>(bias.size(0));
      if (spec_.membership == RoutingSpec::Membership::kThreshold) {
        bias[r] -= at::quantile(scores, 1 - share, 0);
      } else if (spec_.balance != RoutingSpec::Balance::kNone) {
        bias[r] += balancing_potential(scores, spec_.members);
      }
    }
    out.keys = {layer.projection, layer.centroids, bias};
    const int64_t query_routers = shape_.query_routers(spec_),
                  per_key = query_routers / shape_.key_routers(spec_);
    if (!spec_.tied) {
      // q . k / sqrt(dim) through the shared features, plus the log of how often a key is there.
      const auto frequency =
          ((layer.counts + 1) / (layer.counts.sum(-1, true) + static_cast<double>(spec_.groups)))
              .log();
      const auto spread_out = [&](const at::Tensor& x) { return x.repeat_interleave(per_key, 0); };
      const double scale = 1 / std::sqrt(static_cast<double>(shape_.head_dim));
      out.queries = {spread_out(query_projection(layer.projection)),
                     spread_out(layer.centroids) * scale, spread_out(frequency)};
    }
    out.reads.assign(query_routers, static_cast<int32_t>(spec_.members));
    result.push_back(std::move(out));
  }
  score_spread_ = spread / static_cast<double>(layers_.size());
  return result;
}

}  // namespace focus
