#pragma once

#include <memory>
#include <vector>

#include "focus/nn/routing.h"
#include "focus/train/far_mass_targets.h"

namespace focus {

struct QueryTrainingOptions {
  double learning_rate = 1e-2;
  int64_t warmup = 5;
  int64_t steps = 120;  // of the cosine schedule
};

// Trains the query side of all layers at once, each by itself: cross-entropy between the far mass
// per group and the router's distribution over groups, rows weighted by their far mass
// (docs/method.md, "group cross-entropy").
class QueryTraining {
 public:
  QueryTraining(const std::vector<LayerRouting>& start, const QueryTrainingOptions& options);
  ~QueryTraining();

  // One AdamW step; returns the loss before it, nats per unit of far mass. Error(kNumeric) when it
  // is not finite.
  double step(const RouterBatch& batch);
  double loss(const RouterBatch& batch) const;
  // Copies the trained tensors into the query sides.
  void store(std::vector<LayerRouting>& layers) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace focus
