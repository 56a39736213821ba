#include "focus/kernels/attention/attend_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace focus {
namespace {

float from_bits(Bf16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
Bf16 truncated(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return {static_cast<uint16_t>(bits >> 16)};
}

template <typename T>
void check(int64_t dim, int64_t positions, int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const int64_t stride = 2 * dim + 1;
  std::vector<float> q(dim), k(positions * stride), v(positions * stride);
  for (auto* values : {&q, &k, &v}) {
    for (float& x : *values) x = normal(random);
  }
  std::vector<T> kt, vt;
  if constexpr (std::is_same_v<T, float>) {
    kt = k;
    vt = v;
  } else {
    for (float& x : k) {
      kt.push_back(truncated(x));
      x = from_bits(kt.back());
    }
    for (float& x : v) {
      vt.push_back(truncated(x));
      x = from_bits(vt.back());
    }
  }
  std::vector<int32_t> keys(positions);
  for (int64_t j = 0; j < positions; ++j) keys[j] = static_cast<int32_t>(j);
  std::shuffle(keys.begin(), keys.end(), random);
  keys.resize(count);
  std::sort(keys.begin(), keys.end());
  std::vector<float> scratch(count + 64), out(dim, 99.0f);
  const float scale = 1 / std::sqrt(static_cast<float>(dim));
  const float lse = attend_row(q.data(), dim, scale, kt.data(), vt.data(), stride, keys.data(),
                               count, scratch.data(), out.data());

  double total = 0;
  std::vector<double> expected(dim, 0.0);
  for (int32_t j : keys) {
    double score = 0;
    for (int64_t d = 0; d < dim; ++d) score += static_cast<double>(q[d]) * k[j * stride + d];
    const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
    total += weight;
    for (int64_t d = 0; d < dim; ++d) expected[d] += weight * v[j * stride + d];
  }
  if (count == 0) {
    EXPECT_EQ(lse, -INFINITY);
    for (float x : out) EXPECT_EQ(x, 0);
    return;
  }
  // Scores of unit variance: fp32 rounding of dim terms and of the exponential, 2^-24 each, stays
  // below 2e-6 of |v| ~ 4.
  EXPECT_NEAR(lse, std::log(total), 5e-6);
  for (int64_t d = 0; d < dim; ++d) ASSERT_NEAR(out[d], expected[d] / total, 5e-6);
}

TEST(AttendRow, EqualsSoftmaxInDouble) {
  unsigned seed = 0;
  for (int64_t dim : {1, 16, 64, 80, 100}) {
    for (int64_t count : {0, 1, 2, 15, 16, 17, 130}) {
      check<float>(dim, 140, count, ++seed);
      check<Bf16>(dim, 140, count, ++seed);
    }
  }
}

TEST(AttendRow, UnlistedRowsAreNeverRead) {
  const int64_t dim = 16;
  std::vector<float> q(dim, 1.0f), k(3 * dim, 0.5f), v(3 * dim, 0.25f), scratch(70), out(dim);
  for (int64_t d = 0; d < dim; ++d) k[dim + d] = v[dim + d] = NAN;
  const std::vector<int32_t> keys{0, 2};
  attend_row(q.data(), dim, 1.0f, k.data(), v.data(), dim, keys.data(), 2, scratch.data(),
             out.data());
  for (float x : out) EXPECT_EQ(x, 0.25f);
}

}  // namespace
}  // namespace focus
