#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "focus/base/error.h"
#include "focus/eval/far_mass.h"
#include "focus/eval/scoring.h"

namespace focus {
namespace {

TEST(CopyTest, RepeatsTokens100To299AndScoresTheLast180) {
  std::vector<int32_t> window(1024);
  std::iota(window.begin(), window.end(), 0);
  const auto copied = with_copied_passage(window);
  for (int64_t t = 0; t < 1024; ++t) {
    const bool inside = t >= 1024 - 324 && t <= 1024 - 125;
    ASSERT_EQ(copied[t], inside ? 100 + t - 700 : t) << t;
  }
  // nll[t - 1] belongs to token t: mark the tokens that count with 1, the others with 1000.
  std::vector<double> nll(1023, 1000.0);
  for (int64_t t = 1024 - 324 + 20; t <= 1024 - 125; ++t) nll[t - 1] = 1;
  EXPECT_EQ(copied_nll(nll), 1);
  EXPECT_THROW(with_copied_passage(std::vector<int32_t>(699)), Error);
}

TEST(FarMass, IsTheKeptShareOfDenseMassBeyondWindowAndSinks) {
  at::manual_seed(2);
  const int64_t tokens = 40;
  const LayerInputs inputs{.layer = 0,
                           .first = 0,
                           .x = at::randn({tokens, 4}),
                           .q_raw = {},
                           .k_raw = {},
                           .q = at::randn({tokens, 2, 4}) * 2,
                           .k = at::randn({tokens, 1, 4}) * 2};
  const Rule near{.window = 5, .sinks = 2};
  FarMass mass({{"dense", Rule::dense(), nullptr},
                {"near", near, nullptr},
                {"wider", {.window = 12, .sinks = 2}, nullptr}},
               near, 1, 2);
  const std::vector<int64_t> rows{3, 20, 33, 39};
  mass.observe(inputs, rows);
  double far = 0, wider = 0;
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i : rows) {
      double total = 0, far_row = 0, wider_row = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const double weight = std::exp((inputs.q[i][h] * inputs.k[j][0]).sum().item<double>() / 2);
        total += weight;
        if (j >= 2 && i - j > 5) {
          far_row += weight;
          if (i - j <= 12) wider_row += weight;
        }
      }
      far += far_row / total;
      wider += wider_row / total;
    }
  }
  EXPECT_NEAR(mass.kept(0), 1, 1e-6);
  EXPECT_EQ(mass.kept(1), 0);
  EXPECT_NEAR(mass.kept(2), wider / far, 1e-6);
  EXPECT_NEAR((mass.far_by_head()[0][0] + mass.far_by_head()[0][1]) * 4, far, 1e-5);
}

}  // namespace
}  // namespace focus
