// How many groups each query head reads, fitted on calibration text.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "focus/nn/layer_inputs.h"
#include "focus/nn/learned_router.h"
#include "focus/plan/group_sets.h"
#include "focus/plan/rule.h"

namespace focus {

// For every router, what reading its r best groups keeps: averages over sampled query rows.
class ReadCurves {
 public:
  ReadCurves(const RoutingSpec& spec, const RoutingShape& shape, const Rule& rule,
             int64_t window_tokens);

  // One layer of one window. keys: M of the window; scores: [n, routers, groups] of the query side.
  void observe(const LayerInputs& inputs, const GroupSets& keys, const at::Tensor& scores,
               const std::vector<int64_t>& rows);

  // Groups read per layer and router such that pairs and scoring stay within `cost` of the causal
  // pairs: greedy by gain per added pair on the concave hull of each router's curve. The gain is in
  // mean squared lost mass, so that rows that lose most count most; the first group a router reads
  // carries its scoring. May be 0.
  std::vector<std::vector<int32_t>> fit(double cost) const;
  // The same number everywhere (RoutingSpec::Read::kTop): the largest within the cost.
  std::vector<std::vector<int32_t>> fit_uniform(double cost) const;
  std::vector<std::vector<int32_t>> uniform(int32_t reads) const;
  // Mean kept share of the causal pairs at these reads, and with scoring.
  double pairs(const std::vector<std::vector<int32_t>>& reads) const;
  double cost(const std::vector<std::vector<int32_t>>& reads) const;

 private:
  struct Curve {
    std::vector<double> gain;   // [groups + 1]: sum of -(lost mass)^2
    std::vector<double> pairs;  // [groups + 1]: sum of keys kept
    int64_t rows = 0;
  };
  double causal() const {
    return causal_ / static_cast<double>(causal_rows_);
  }  // mean causal keys of a row

  RoutingSpec spec_;
  RoutingShape shape_;
  Rule rule_;
  int64_t tokens_;             // of a window
  std::vector<Curve> curves_;  // [layers * routers]
  double causal_ = 0;          // sum of causal keys of the rows of one router
  int64_t causal_rows_ = 0;
};

}  // namespace focus
