// Each part of training on planted structure, where the right answer is known.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "focus/base/error.h"
#include "focus/nn/learned_router.h"
#include "focus/train/far_mass_targets.h"
#include "focus/train/key_calibration.h"
#include "focus/train/query_training.h"
#include "focus/train/read_budget.h"

namespace focus {
namespace {

const RoutingShape kShape{.layers = 2, .hidden = 10, .heads = 2, .kv_heads = 1, .head_dim = 8};

// Keys at one of `groups` corners, with a little noise; a query looks for its own corner.
LayerInputs planted(int64_t layer, int64_t tokens, int64_t groups, uint64_t seed,
                    std::vector<int64_t>* corners = nullptr) {
  at::manual_seed(77);
  const auto centres = at::randn({groups, 8}) * 4;
  at::manual_seed(seed);
  const auto corner = at::randint(groups, {tokens}, at::kLong);
  const auto wanted = at::randint(groups, {tokens}, at::kLong);
  const auto k = (centres.index_select(0, corner) + 0.1 * at::randn({tokens, 8})).unsqueeze(1);
  const auto q =
      (centres.index_select(0, wanted) * 0.5).unsqueeze(1).repeat({1, 2, 1}).contiguous();
  if (corners != nullptr)
    corners->assign(corner.const_data_ptr<int64_t>(), corner.const_data_ptr<int64_t>() + tokens);
  return {.layer = layer,
          .first = 0,
          .x = at::randn({tokens, 10}),
          .q_raw = q,
          .k_raw = k,
          .q = q,
          .k = k,
          .v = k};
}

std::vector<LayerRouting> calibrate(const RoutingSpec& spec, uint64_t seed, int64_t windows = 8) {
  const at::NoGradGuard frozen;
  KeyCalibration calibration(spec, kShape, 256,
                             {.seed = seed, .windows = windows, .sample_tokens = 256});
  for (int64_t n = 0; n < windows; ++n) {
    for (int64_t layer = 0; layer < 2; ++layer)
      calibration.observe(planted(layer, 256, 6, 100 + n));
    calibration.end_window();
  }
  return calibration.finish();
}

TEST(KeyCalibration, FindsPlantedClusters) {
  const RoutingSpec spec{.groups = 6, .rank = 4};
  const LearnedRouter router(spec, kShape, calibrate(spec, 3));
  std::vector<int64_t> corners;
  const auto inputs = planted(1, 300, 6, 999, &corners);
  GroupSets keys;
  router.route_keys(inputs, keys);
  // A partition equals the planted one up to names: one group per corner.
  std::map<int64_t, int64_t> group_of;
  for (int64_t t = 0; t < 300; ++t) {
    for (int64_t g = 0; g < 6; ++g) {
      if (keys.contains(t, 0, g)) {
        const auto [at, fresh] = group_of.emplace(corners[t], g);
        ASSERT_EQ(at->second, g) << "corner " << corners[t] << " split";
      }
    }
  }
  std::set<int64_t> distinct;
  for (const auto& [corner, group] : group_of) distinct.insert(group);
  EXPECT_EQ(distinct.size(), 6u);
}

TEST(KeyCalibration, TheSameSeedGivesTheSameBytes) {
  const RoutingSpec spec{.groups = 12, .rank = 4};
  const auto a = calibrate(spec, 3), b = calibrate(spec, 3), c = calibrate(spec, 4);
  EXPECT_TRUE(at::equal(a[1].keys.centroids, b[1].keys.centroids));
  EXPECT_TRUE(at::equal(a[1].keys.projection, b[1].keys.projection));
  EXPECT_FALSE(at::equal(a[1].keys.centroids, c[1].keys.centroids));
}

TEST(KeyCalibration, FrozenBalanceEvensTheHardGroups) {
  // Twelve groups over six corners: without potentials the sizes follow the noise of k-means.
  RoutingSpec spec{.balance = RoutingSpec::Balance::kFrozen, .groups = 12, .rank = 4};
  const auto inputs = planted(0, 2000, 6, 500);
  const auto effective = [&](const RoutingSpec& of) {
    const LearnedRouter router(of, kShape, calibrate(of, 3));
    GroupSets keys;
    router.route_keys(inputs, keys);
    return effective_groups(keys.group_sizes(0));
  };
  const double balanced = effective(spec);
  spec.balance = RoutingSpec::Balance::kNone;
  EXPECT_GT(balanced, 10);
  EXPECT_GT(balanced, effective(spec));
}

TEST(KeyCalibration, ThresholdsTakeTheirShareOfTheKeys) {
  const RoutingSpec spec{
      .membership = RoutingSpec::Membership::kThreshold, .groups = 6, .rank = 4, .members = 2};
  const LearnedRouter router(spec, kShape, calibrate(spec, 3));
  GroupSets keys;
  router.route_keys(planted(0, 3000, 6, 11), keys);
  double total = 0;
  for (int64_t size : keys.group_sizes(0)) total += static_cast<double>(size);
  EXPECT_NEAR(total / 3000, 2, 0.25) << "groups a key, on average";
}

TEST(KeyCalibration, SaysWhatItNeeds) {
  EXPECT_THROW(KeyCalibration({.groups = 200, .rank = 4}, kShape, 64, {.windows = 4}), Error)
      << "too few keys for the groups";
  EXPECT_THROW(KeyCalibration({.groups = 6, .rank = 9}, kShape, 256, {}), Error)
      << "rank above the width";
  KeyCalibration early({.groups = 6, .rank = 4}, kShape, 256, {.windows = 8});
  EXPECT_THROW(early.finish(), Error);
}

struct Trained {
  RoutingSpec spec{.groups = 6, .rank = 4};
  Rule rule{.window = 4, .sinks = 1};
  std::vector<LayerRouting> layers = calibrate(spec, 3);
  double before = 0, after = 0;

  RouterBatch batch(uint64_t seed) const {
    const at::NoGradGuard frozen;
    const LearnedRouter router(spec, kShape, layers);
    std::vector<int64_t> rows;
    for (int64_t t = 40; t < 256; t += 5) rows.push_back(t);
    TargetCollector collector(spec, kShape, rule, rows);
    for (int64_t layer = 0; layer < 2; ++layer) {
      const auto inputs = planted(layer, 256, 6, seed);
      GroupSets keys;
      router.route_keys(inputs, keys);
      collector.observe(inputs, keys);
    }
    return collector.finish();
  }
  Trained() {
    for (auto& layer : layers) {  // forget the start: training has to find it
      layer.queries.centroids = at::zeros_like(layer.queries.centroids);
      layer.queries.centroids.uniform_(-0.1, 0.1);
    }
    QueryTraining training(layers, {.learning_rate = 0.05, .steps = 150});
    before = training.loss(batch(1));
    for (uint64_t step = 0; step < 150; ++step) training.step(batch(1000 + step));
    after = training.loss(batch(1));
    training.store(layers);
  }
};

TEST(QueryTraining, LearnsWhichGroupEachQueryWants) {
  const Trained trained;
  EXPECT_GT(trained.before, 1.6) << "about log 6 at the start";
  EXPECT_LT(trained.after, 0.1) << "nearly all far mass lies in the wanted corner's group";
}

TEST(FarMassTargets, AreTheDenseMassOfFarKeysPerGroup) {
  const RoutingSpec spec{.groups = 6, .rank = 4};
  const Rule rule{.window = 4, .sinks = 1};
  const auto inputs = planted(0, 30, 6, 5);
  GroupSets keys(6, 1);
  keys.grow(30);
  for (int64_t t = 0; t < 30; ++t) keys.add(t, 0, t % 6);
  TargetCollector collector(spec, kShape, rule, {20, 29});
  collector.observe(inputs, keys);
  const auto mass = collector.finish().mass;  // [1, 2, 2, 6]
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t r = 0; r < 2; ++r) {
      const int64_t i = r == 0 ? 20 : 29;
      std::vector<double> expected(6, 0.0);
      double total = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const double weight =
            std::exp((inputs.q[i][h] * inputs.k[j][0]).sum().item<double>() / std::sqrt(8.0));
        total += weight;
        if (j >= 1 && i - j > 4) expected[j % 6] += weight;
      }
      for (int64_t g = 0; g < 6; ++g)
        EXPECT_NEAR(mass[0][h][r][g].item<double>(), expected[g] / total, 1e-5);
    }
  }
}

TEST(ReadCurves, TheFitStaysWithinItsCostAndBeatsUniformReads) {
  const at::NoGradGuard frozen;
  const Trained trained;
  const LearnedRouter router(trained.spec, kShape, trained.layers);
  ReadCurves curves(trained.spec, kShape, trained.rule, 256);
  std::vector<int64_t> rows;
  for (int64_t t = 0; t < 256; t += 3) rows.push_back(t);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    for (int64_t layer = 0; layer < 2; ++layer) {
      const auto inputs = planted(layer, 256, 6, 50 + seed);
      GroupSets keys;
      router.route_keys(inputs, keys);
      curves.observe(inputs, keys, router.query_scores(inputs), rows);
    }
  }
  const double least = curves.cost(curves.uniform(0)), most = curves.cost(curves.uniform(6));
  EXPECT_NEAR(curves.pairs(curves.uniform(6)), 1, 1e-9) << "all groups read: every pair kept";
  int64_t last = -1;
  for (double cost = least; cost < most; cost += 0.05) {
    const auto reads = curves.fit(cost);
    EXPECT_LE(curves.cost(reads), cost + 1e-9);
    EXPECT_LE(curves.cost(curves.fit_uniform(cost)), cost + 1e-9);
    int64_t total = 0;
    for (const auto& layer : reads) {
      for (int32_t read : layer) total += read;
    }
    EXPECT_GE(total, last) << "a larger budget never reads less";
    last = total;
  }
  // One group holds what a trained query wants: reading it is the first thing to buy.
  const auto one = curves.fit(curves.cost(curves.uniform(1)) + 1e-9);
  for (const auto& layer : one) EXPECT_EQ(layer, (std::vector<int32_t>{1, 1}));
}

}  // namespace
}  // namespace focus
