#pragma once

#include <vector>

#include "focus/nn/router.h"
#include "focus/nn/routing.h"

namespace focus {

// The router of an adapter: fp32 scores by the project's own row kernel, decisions by (score, lower
// id).
class LearnedRouter : public Router {
 public:
  // Errors: kUsage (spec), kMismatch (tensor shapes). Copies the weights.
  LearnedRouter(const RoutingSpec& spec, const RoutingShape& shape,
                const std::vector<LayerRouting>& layers);

  GroupSets route(const LayerInputs& inputs, GroupSets& keys) const override;

  // The key half of route().
  void route_keys(const LayerInputs& inputs, GroupSets& keys) const;

  // Scores behind the decisions, balance left out: [n, routers, groups] fp32; 0 for routers that
  // are not active.
  at::Tensor key_scores(const LayerInputs& inputs) const;
  at::Tensor query_scores(const LayerInputs& inputs) const;  // key_scores when tied

  const RoutingSpec& spec() const { return spec_; }

 private:
  struct Packed {
    std::vector<float> projection;  // [R, W, r]: transposed for the row kernel
    std::vector<float> centroids;   // [R, r, G]
    std::vector<float> bias;        // [R, G]
  };
  static Packed pack(const char* side, int64_t layer, const RouterWeights& weights, int64_t routers,
                     int64_t width, const RoutingSpec& spec);
  at::Tensor scores(const Packed& packed, const std::vector<bool>& active, int64_t width,
                    const at::Tensor& source) const;
  void choose_keys(const at::Tensor& scores, const std::vector<bool>& active, int64_t first,
                   GroupSets& keys) const;
  GroupSets choose_queries(const at::Tensor& scores, int64_t layer) const;

  RoutingSpec spec_;
  RoutingShape shape_;
  std::vector<Packed> key_side_, query_side_;
  std::vector<std::vector<int32_t>> reads_;
  std::vector<ActiveRouters> active_;
};

}  // namespace focus
