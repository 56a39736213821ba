#include "focus/kernels/routing/score_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "focus/base/error.h"

namespace focus {
namespace {

std::vector<float> random_floats(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (float& x : out) x = normal(random);
  return out;
}

TEST(ScoreRows, EqualsTheChainOfFusedMultiplyAdds) {
  for (int64_t rows : {0, 1, 2, 7, 8, 9, 31}) {
    for (int64_t width : {0, 1, 15, 16, 64, 67}) {
      for (int64_t outputs : {1, 8, 15, 16, 17, 64, 100}) {
        const auto x = random_floats(rows * (width + 3), 1), w = random_floats(width * outputs, 2);
        const auto bias = random_floats(outputs, 3);
        const int64_t y_stride = outputs + 2;
        std::vector<float> y(rows * y_stride, -7.0f);
        score_rows(x.data(), width + 3, rows, width, w.data(), bias.data(), outputs, y.data(),
                   y_stride);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t o = 0; o < outputs; ++o) {
            double exact = bias[o], size = std::abs(bias[o]);
            float chain = bias[o];
            for (int64_t d = 0; d < width; ++d) {
              const double product =
                  static_cast<double>(x[r * (width + 3) + d]) * w[d * outputs + o];
              exact += product;
              size += std::abs(product);
              chain = std::fma(x[r * (width + 3) + d], w[d * outputs + o], chain);
            }
            // Each of the width + 1 roundings (two a step without FMA) errs by at most 2^-24 of the
            // running sum.
            ASSERT_NEAR(y[r * y_stride + o], exact,
                        2.0 * static_cast<double>(width + 1) * size * 0x1p-24);
            if (__builtin_cpu_supports("fma")) {
              ASSERT_EQ(y[r * y_stride + o], chain);
            }
          }
          ASSERT_EQ(y[r * y_stride + outputs], -7.0f) << "written past the row";
        }
      }
    }
  }
}

TEST(ScoreRows, ARowsBitsDoNotDependOnItsNeighbours) {
  const int64_t rows = 29, width = 16, outputs = 70;
  auto x = random_floats(rows * width, 5);
  const auto w = random_floats(width * outputs, 6);
  std::vector<float> all(rows * outputs), one(outputs);
  x[3 * width] = std::numeric_limits<float>::quiet_NaN();
  score_rows(x.data(), width, rows, width, w.data(), nullptr, outputs, all.data(), outputs);
  for (int64_t r = 0; r < rows; ++r) {
    if (r == 3) continue;
    score_rows(x.data() + r * width, width, 1, width, w.data(), nullptr, outputs, one.data(),
               outputs);
    ASSERT_TRUE(std::equal(one.begin(), one.end(), all.begin() + r * outputs)) << "row " << r;
  }
}

std::vector<int> members(const std::vector<uint64_t>& set, int64_t groups) {
  std::vector<int> out;
  for (int64_t g = 0; g < groups; ++g) {
    if (set[g / 64] >> (g % 64) & 1) out.push_back(static_cast<int>(g));
  }
  return out;
}

TEST(Select, TakesTheHighestAndTheLowerIdOfEquals) {
  const std::vector<float> scores{1, 3, 2, 3, 0, 3, -1};
  const auto top = [&](int64_t read) {
    std::vector<uint64_t> set(1, 0);
    select_top(scores.data(), 7, read, set.data());
    return members(set, 7);
  };
  EXPECT_EQ(top(0), std::vector<int>{});
  EXPECT_EQ(top(1), (std::vector<int>{1}));
  EXPECT_EQ(top(2), (std::vector<int>{1, 3}));
  EXPECT_EQ(top(4), (std::vector<int>{1, 2, 3, 5}));
  EXPECT_EQ(top(7), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(top(9), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Select, AgreesWithTheRankingOnRandomScoresWithTies) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const int64_t groups = 1 + random() % 200, read = random() % (groups + 1);
    std::vector<float> scores(groups);
    for (float& s : scores) s = static_cast<float>(random() % 20);
    std::vector<int32_t> order(groups);
    rank_groups(scores.data(), groups, order.data());
    std::vector<uint64_t> expected((groups + 63) / 64, 0), got = expected;
    for (int64_t n = 0; n < read; ++n) expected[order[n] / 64] |= uint64_t{1} << (order[n] % 64);
    select_top(scores.data(), groups, read, got.data());
    ASSERT_EQ(got, expected);
  }
}

TEST(Select, PositiveAndMass) {
  const std::vector<float> scores{-1, 0, 2, 1};
  std::vector<uint64_t> set(1, 0);
  select_positive(scores.data(), 4, set.data());
  EXPECT_EQ(members(set, 4), (std::vector<int>{2, 3}));
  set.assign(1, 0);
  select_mass(scores.data(), 4, 0.5, set.data());  // softmax: .032 .087 .644 .237
  EXPECT_EQ(members(set, 4), (std::vector<int>{2}));
  set.assign(1, 0);
  select_mass(scores.data(), 4, 0.7, set.data());
  EXPECT_EQ(members(set, 4), (std::vector<int>{2, 3}));
}

TEST(Select, NanIsAnError) {
  std::vector<float> scores(70, 0.0f);
  scores[66] = std::numeric_limits<float>::quiet_NaN();
  std::vector<uint64_t> set(2, 0);
  EXPECT_THROW(select_top(scores.data(), 70, 3, set.data()), Error);
  EXPECT_THROW(select_positive(scores.data(), 70, set.data()), Error);
  EXPECT_THROW(select_mass(scores.data(), 70, 0.5, set.data()), Error);
}

}  // namespace
}  // namespace focus
