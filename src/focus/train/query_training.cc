#include "focus/train/query_training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/optim/adamw.h>

#include <cmath>
#include <numbers>
#include <string>

#include "focus/base/error.h"

namespace focus {

struct QueryTraining::Impl {
  at::Tensor projection, centroids, bias;  // [L, Q, r, W], [L, Q, G, r], [L, Q, G]
  QueryTrainingOptions options;
  std::unique_ptr<torch::optim::AdamW> optimizer;
  int64_t steps_done = 0;

  at::Tensor loss(const RouterBatch& batch) const {
    const auto features = at::matmul(batch.features, projection.transpose(2, 3));
    const auto scores = at::matmul(features, centroids.transpose(2, 3)) + bias.unsqueeze(2);
    const auto log_share = at::log_softmax(scores, -1);
    return -(batch.mass * log_share).sum() / batch.mass.sum().clamp_min(1e-6);
  }
};

QueryTraining::QueryTraining(const std::vector<LayerRouting>& start,
                             const QueryTrainingOptions& options)
    : impl_(std::make_unique<Impl>()) {
  std::vector<at::Tensor> projection, centroids, bias;
  for (const auto& layer : start) {
    projection.push_back(layer.queries.projection);
    centroids.push_back(layer.queries.centroids);
    bias.push_back(layer.queries.bias);
  }
  impl_->projection = at::stack(projection).set_requires_grad(true);
  impl_->centroids = at::stack(centroids).set_requires_grad(true);
  impl_->bias = at::stack(bias).set_requires_grad(true);
  impl_->options = options;
  impl_->optimizer = std::make_unique<torch::optim::AdamW>(
      std::vector<at::Tensor>{impl_->projection, impl_->centroids, impl_->bias},
      torch::optim::AdamWOptions(options.learning_rate)
          .betas({0.9, 0.99})
          .eps(1e-10)
          .weight_decay(0));
}

QueryTraining::~QueryTraining() = default;

double QueryTraining::step(const RouterBatch& batch) {
  const at::AutoGradMode with_gradients(true);
  auto& impl = *impl_;
  const double step = static_cast<double>(impl.steps_done),
               steps = static_cast<double>(std::max<int64_t>(1, impl.options.steps));
  const double warm =
      std::min(1.0, (step + 1) / static_cast<double>(std::max<int64_t>(1, impl.options.warmup)));
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, step / steps)));
  for (auto& group : impl.optimizer->param_groups())
    group.options().set_lr(impl.options.learning_rate * warm * cosine);
  impl.optimizer->zero_grad();
  const auto loss = impl.loss(batch);
  const double value = loss.item<double>();
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::kNumeric, "training loss at step " + std::to_string(impl.steps_done),
                "a finite number", std::to_string(value),
                "try --dtype f32 or a smaller --learning-rate");
  }
  loss.backward();
  impl.optimizer->step();
  ++impl.steps_done;
  return value;
}

double QueryTraining::loss(const RouterBatch& batch) const {
  return impl_->loss(batch).item<double>();
}

void QueryTraining::store(std::vector<LayerRouting>& layers) const {
  for (size_t n = 0; n < layers.size(); ++n) {
    const auto index = static_cast<int64_t>(n);
    layers[n].queries = {impl_->projection.detach()[index].clone(),
                         impl_->centroids.detach()[index].clone(),
                         impl_->bias.detach()[index].clone()};
  }
}

}  // namespace focus
