// What the query side learns from: the dense attention mass that each sampled query sends to each
// group of far keys.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "focus/nn/layer_inputs.h"
#include "focus/nn/routing.h"
#include "focus/plan/group_sets.h"
#include "focus/plan/rule.h"

namespace focus {

// One window's rows. [L layers, Q query routers, R rows, ...]
struct RouterBatch {
  at::Tensor features;  // [L, Q, R, width]: what the query routers see
  at::Tensor
      mass;  // [L, Q, R, groups]: far mass per group; a row sums to its far mass (less where a key
             // has no group, more where it has several); mean over the heads of a shared router
};

// Collects a window layer by layer. keys: M of the window's tokens in this layer.
class TargetCollector {
 public:
  TargetCollector(const RoutingSpec& spec, const RoutingShape& shape, const Rule& rule,
                  std::vector<int64_t> rows)
      : spec_(spec), shape_(shape), rule_(rule), rows_(std::move(rows)) {}

  void observe(const LayerInputs& inputs, const GroupSets& keys);
  RouterBatch finish() const;

 private:
  RoutingSpec spec_;
  RoutingShape shape_;
  Rule rule_;
  std::vector<int64_t> rows_;
  std::vector<at::Tensor> features_, mass_;
};

}  // namespace focus
