#include "focus/infer/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "focus/base/error.h"

namespace focus {
namespace {

const std::vector<float> kLogits{0.0f, std::log(4.0f), std::log(3.0f),
                                 std::log(2.0f)};  // shares .1 .4 .3 .2

std::map<int, double> shares(const SamplingOptions& options) {
  Sampler sampler(options);
  std::map<int, double> out;
  for (int n = 0; n < 20000; ++n) out[sampler.next(kLogits)] += 1 / 20000.0;
  return out;
}

TEST(Sampler, DrawsFromTheSoftmax) {
  auto got = shares({.temperature = 1, .seed = 3});
  // Four standard deviations of a share of 20000 draws: at most 4 * sqrt(.24 / 20000) = .014.
  for (const auto& [id, share] : std::map<int, double>{{0, .1}, {1, .4}, {2, .3}, {3, .2}})
    EXPECT_NEAR(got[id], share, .014);
}

TEST(Sampler, TopKAndTopPCutTheTail) {
  auto two = shares({.temperature = 1, .top_k = 2, .seed = 1});
  EXPECT_EQ(two.size(), 2u);
  EXPECT_NEAR(two[1], 4.0 / 7, .015);
  auto most = shares({.temperature = 1, .top_p = 0.65, .seed = 1});  // .4 + .3 reach .65
  EXPECT_EQ(most.size(), 2u);
  EXPECT_EQ(shares({.temperature = 1, .top_p = 0.01, .seed = 1}).size(), 1u);
  EXPECT_EQ(shares({.temperature = 1, .top_k = 99, .seed = 1}).size(), 4u);
}

TEST(Sampler, GreedyTakesTheLowerIdOfEquals) {
  Sampler sampler({});
  EXPECT_EQ(sampler.next(std::vector<float>{1, 5, 5, 2}), 1);
}

TEST(Sampler, TheSameSeedGivesTheSameDraws) {
  Sampler a({.temperature = 2, .seed = 9}), b({.temperature = 2, .seed = 9}),
      c({.temperature = 2, .seed = 10});
  bool differs = false;
  for (int n = 0; n < 100; ++n) {
    const int32_t draw = a.next(kLogits);
    ASSERT_EQ(draw, b.next(kLogits));
    differs |= draw != c.next(kLogits);
  }
  EXPECT_TRUE(differs);
}

TEST(Sampler, RefusesBadOptionsAndNan) {
  EXPECT_THROW(Sampler({.temperature = -1}), Error);
  EXPECT_THROW(Sampler({.temperature = NAN}), Error);
  EXPECT_THROW(Sampler({.top_k = -1}), Error);
  EXPECT_THROW(Sampler({.top_p = 0}), Error);
  EXPECT_THROW(Sampler({.top_p = 1.5}), Error);
  EXPECT_THROW(Sampler({}).next(std::vector<float>{0, NAN}), Error);
}

}  // namespace
}  // namespace focus
