#include "focus/eval/rivals.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "focus/base/error.h"
#include "focus/eval/random_router.h"
#include "focus/plan/plan.h"

namespace focus {

Mask window_of_cost(double cost, int64_t sinks, int64_t tokens) {
  int64_t low = 0, high = tokens;  // pairs grow with the window
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (near_share({.window = middle, .sinks = sinks}, tokens) >= cost) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {"window " + std::to_string(low) + " + " + std::to_string(sinks) + " sinks",
          {.window = low, .sinks = sinks},
          nullptr};
}

Mask random_of_cost(double cost, const Rule& rule, const RoutingShape& shape, int64_t groups,
                    int64_t tokens, uint64_t seed) {
  const double near = near_share(rule, tokens);
  // A read group brings 1/groups of the far pairs on average; 0.3% more than needed covers the
  // draw.
  const double wanted =
      std::max(0.0, cost * 1.003 - near) / (1 - near) * static_cast<double>(groups);
  const int64_t heads = shape.layers * shape.heads;
  const int64_t total = static_cast<int64_t>(std::ceil(wanted * static_cast<double>(heads)));
  if (total > groups * heads)
    throw Error(ErrorKind::kUsage, "random groups", "a cost below dense", std::to_string(cost));
  std::vector<std::vector<int32_t>> reads(shape.layers, std::vector<int32_t>(shape.heads));
  for (int64_t n = 0; n < heads; ++n) {
    reads[n / shape.heads][n % shape.heads] =
        static_cast<int32_t>((n + 1) * total / heads - n * total / heads);
  }
  return {"random groups", rule,
          std::make_shared<RandomRouter>(shape, groups, std::move(reads), seed)};
}

}  // namespace focus
