#pragma once

#include <vector>

#include "focus/nn/router.h"
#include "focus/nn/routing.h"

namespace focus {

// The control: keys in uniform random groups per KV head, each query reads `reads` random groups of
// its head. A function of seed, layer, head and position alone.
class RandomRouter : public Router {
 public:
  // reads: [layers][query heads].
  RandomRouter(const RoutingShape& shape, int64_t groups, std::vector<std::vector<int32_t>> reads,
               uint64_t seed)
      : shape_(shape), groups_(groups), reads_(std::move(reads)), seed_(seed) {}

  GroupSets route(const LayerInputs& inputs, GroupSets& keys) const override;

 private:
  int64_t draw(int64_t layer, int64_t head, int64_t position) const;

  RoutingShape shape_;
  int64_t groups_;
  std::vector<std::vector<int32_t>> reads_;
  uint64_t seed_;
};

}  // namespace focus
