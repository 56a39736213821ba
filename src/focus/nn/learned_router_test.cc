#include "focus/nn/learned_router.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "focus/base/error.h"

namespace focus {
namespace {

const RoutingShape kShape{.layers = 1, .hidden = 20, .heads = 6, .kv_heads = 2, .head_dim = 5};

RouterWeights random_side(int64_t routers, const RoutingSpec& spec, int64_t width) {
  return {at::randn({routers, spec.rank, width}), at::randn({routers, spec.groups, spec.rank}),
          at::randn({routers, spec.groups})};
}

LayerRouting random_layer(const RoutingSpec& spec, std::vector<int32_t> reads) {
  at::manual_seed(5);
  LayerRouting layer{
      random_side(kShape.key_routers(spec), spec, kShape.key_width(spec)), {}, std::move(reads)};
  if (!spec.tied)
    layer.queries = random_side(kShape.query_routers(spec), spec, kShape.query_width(spec));
  return layer;
}

LayerInputs random_inputs(int64_t tokens, uint64_t seed = 1) {
  at::manual_seed(seed);
  return {.layer = 0,
          .first = 0,
          .x = at::randn({tokens, 20}),
          .q_raw = at::randn({tokens, 6, 5}),
          .k_raw = at::randn({tokens, 2, 5}),
          .q = at::zeros({tokens, 6, 5}),
          .k = at::zeros({tokens, 2, 5})};
}

// [n, G] in double, from the formula: bias + centroid . (projection x).
at::Tensor formula(const RouterWeights& side, int64_t router, const at::Tensor& x) {
  const auto features = at::matmul(x.to(at::kDouble), side.projection[router].to(at::kDouble).t());
  return at::matmul(features, side.centroids[router].to(at::kDouble).t()) +
         side.bias[router].to(at::kDouble);
}

TEST(LearnedRouter, ScoresAndSetsFollowTheFormula) {
  const RoutingSpec spec{.groups = 9, .rank = 3};
  const auto layer = random_layer(spec, {0, 1, 2, 3, 9, 4});
  const LearnedRouter router(spec, kShape, {layer});
  const auto inputs = random_inputs(150);
  GroupSets keys;
  const GroupSets queries = router.route(inputs, keys);
  ASSERT_EQ(keys.heads(), 2);
  ASSERT_EQ(queries.heads(), 6);
  for (int64_t h = 0; h < 6; ++h) {
    const auto scores = formula(layer.queries, h, inputs.q_raw.select(1, h));
    if (layer.reads[h] > 0) {  // a head that reads nothing is not scored
      EXPECT_LE((router.query_scores(inputs).select(1, h) - scores).abs().max().item<double>(),
                1e-5);
    }
    const auto order = scores.argsort(-1, true);
    for (int64_t t = 0; t < 150; ++t) {
      for (int64_t place = 0; place < 9; ++place) {
        ASSERT_EQ(queries.contains(t, h, order[t][place].item<int64_t>()), place < layer.reads[h]);
      }
    }
  }
  for (int64_t h = 0; h < 2; ++h) {
    const auto best = formula(layer.keys, h, inputs.k_raw.select(1, h)).argmax(-1);
    for (int64_t t = 0; t < 150; ++t) {
      for (int64_t g = 0; g < 9; ++g)
        ASSERT_EQ(keys.contains(t, h, g), g == best[t].item<int64_t>());
    }
  }
}

TEST(LearnedRouter, KeysThatNobodyReadsAreNotScored) {
  const RoutingSpec spec{.groups = 9, .rank = 3};
  const LearnedRouter router(spec, kShape, {random_layer(spec, {0, 0, 0, 1, 0, 0})});
  GroupSets keys;
  router.route(random_inputs(10), keys);
  EXPECT_EQ(effective_groups(keys.group_sizes(0)), 0);
  EXPECT_GT(effective_groups(keys.group_sizes(1)), 0);
  // One query head and one KV head of six: 2 (3 * 5 + 9 * 3) products of 2 * 5 a pair, over the
  // mean of 4 causal keys.
  EXPECT_DOUBLE_EQ(scoring_cost(spec, kShape, {{0, 0, 0, 1, 0, 0}}, 7),
                   2 * (15 + 27) / 10.0 / 6 / 4);
  EXPECT_DOUBLE_EQ(scoring_cost(spec, kShape, {{0, 0, 0, 0, 0, 0}}, 7), 0);
}

TEST(LearnedRouter, ThresholdsMarkEveryGroupThatPasses) {
  const RoutingSpec spec{.membership = RoutingSpec::Membership::kThreshold, .groups = 9, .rank = 3};
  const auto layer = random_layer(spec, {1, 1, 1, 1, 1, 1});
  const LearnedRouter router(spec, kShape, {layer});
  const auto inputs = random_inputs(50);
  GroupSets keys;
  router.route(inputs, keys);
  for (int64_t h = 0; h < 2; ++h) {
    const auto scores = formula(layer.keys, h, inputs.k_raw.select(1, h));
    for (int64_t t = 0; t < 50; ++t) {
      for (int64_t g = 0; g < 9; ++g)
        ASSERT_EQ(keys.contains(t, h, g), scores[t][g].item<double>() > 0);
    }
  }
}

TEST(LearnedRouter, RunningBalanceEvensOutTheGroups) {
  RoutingSpec spec{.groups = 8, .rank = 3};
  auto layer = random_layer(spec, {1, 1, 1, 1, 1, 1});
  layer.keys.bias.select(1, 0) += 6;  // one group that would take nearly all
  const auto inputs = random_inputs(400);
  GroupSets without, with;
  LearnedRouter(spec, kShape, {layer}).route(inputs, without);
  spec.balance = RoutingSpec::Balance::kRunning;
  spec.balance_rate = 0.5;
  LearnedRouter(spec, kShape, {layer}).route(inputs, with);
  EXPECT_LT(effective_groups(without.group_sizes(0)), 3);
  EXPECT_GT(effective_groups(with.group_sizes(0)), 7.5);
}

TEST(LearnedRouter, TiedQueriesReadTheirOwnGroups) {
  const RoutingSpec spec{.features = RoutingSpec::Features::kInput,
                         .tied = true,
                         .groups = 8,
                         .rank = 3,
                         .members = 2};
  const LearnedRouter router(spec, kShape, {random_layer(spec, {2, 2, 2, 2, 2, 2})});
  GroupSets keys;
  const GroupSets queries = router.route(random_inputs(20), keys);
  for (int64_t t = 0; t < 20; ++t) {
    for (int64_t h = 0; h < 6; ++h) {
      for (int64_t g = 0; g < 8; ++g)
        ASSERT_EQ(queries.contains(t, h, g), keys.contains(t, h / 3, g));
    }
  }
}

TEST(LearnedRouter, RefusesWhatDoesNotFit) {
  const RoutingSpec spec{.groups = 9, .rank = 3};
  auto layer = random_layer(spec, {1, 1, 1, 1, 1, 1});
  EXPECT_THROW(LearnedRouter(spec, kShape, {}), Error);
  auto few_reads = layer;
  few_reads.reads.pop_back();
  EXPECT_THROW(LearnedRouter(spec, kShape, {few_reads}), Error);
  auto wrong = layer;
  wrong.queries.centroids = at::randn({6, 8, 3});
  EXPECT_THROW(LearnedRouter(spec, kShape, {wrong}), Error);
  RoutingSpec tied = spec;
  tied.tied = true;
  EXPECT_THROW(tied.check(), Error) << "own q and k cannot be tied";
  const LearnedRouter router(spec, kShape, {layer});
  auto inputs = random_inputs(3);
  inputs.q_raw[1][2][0] = std::numeric_limits<float>::quiet_NaN();
  GroupSets keys;
  EXPECT_THROW(router.route(inputs, keys), Error) << "NaN";
  GroupSets late;
  auto gap = random_inputs(3);
  gap.first = 2;
  EXPECT_THROW(router.route(gap, late), Error) << "tokens decided out of order";
}

}  // namespace
}  // namespace focus
