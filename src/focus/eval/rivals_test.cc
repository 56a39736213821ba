#include "focus/eval/rivals.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "focus/plan/plan.h"

namespace focus {
namespace {

TEST(Rivals, TheWindowIsTheNarrowestThatIsNotCheaper) {
  for (double cost : {0.14, 0.2, 0.25, 0.3}) {
    const Mask mask = window_of_cost(cost, 4, 1024);
    const double share = near_share(mask.rule, 1024);
    EXPECT_GE(share, cost);
    EXPECT_LE(share, cost * 1.01) << "within 1% at T = 1024";
    Rule narrower = mask.rule;
    --narrower.window;
    EXPECT_LT(near_share(narrower, 1024), cost);
  }
  // 65 keys near every query but the first 64, and 4 sinks: counted by hand.
  EXPECT_DOUBLE_EQ(near_share({.window = 2, .sinks = 1}, 5), (1 + 2 + 3 + 4 + 4) / 15.0);
}

TEST(Rivals, RandomGroupsKeepTheSamePairs) {
  const RoutingShape shape{.layers = 4, .hidden = 8, .heads = 6, .kv_heads = 2, .head_dim = 4};
  const int64_t tokens = 1024;
  const Rule near{.window = 64, .sinks = 4};
  const Mask mask = random_of_cost(0.25, near, shape, 64, tokens, 1);
  PairCount pairs;
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const LayerInputs inputs{
        .layer = layer, .first = 0, .q = at::zeros({tokens, 6, 4}), .k = at::zeros({tokens, 2, 4})};
    GroupSets keys;
    const GroupSets queries = mask.router->route(inputs, keys);
    pairs += Plan(near, {0, tokens, 6, 2, {}}, &queries, &keys).count();
    EXPECT_GT(effective_groups(keys.group_sizes(0)), 55) << "uniform over 64 groups";
  }
  EXPECT_GE(pairs.share(), 0.25 * 0.995);
  EXPECT_LE(pairs.share(), 0.25 * 1.01);
}

}  // namespace
}  // namespace focus
