// The masks that an adapter has to beat at its own cost.
#pragma once

#include "focus/nn/router.h"
#include "focus/nn/routing.h"

namespace focus {

// The narrowest window (with these sinks) whose pairs are not below `cost`.
Mask window_of_cost(double cost, int64_t sinks, int64_t tokens);

// Random groups with the same near keys whose expected pairs are not below `cost`: some heads read
// one group more than the others. Error(kUsage) when every group would have to be read.
Mask random_of_cost(double cost, const Rule& rule, const RoutingShape& shape, int64_t groups,
                    int64_t tokens, uint64_t seed);

}  // namespace focus
