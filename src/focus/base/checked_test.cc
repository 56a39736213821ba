#include "focus/base/checked.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace focus {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Checked, AddsUpToTheLimit) {
  EXPECT_EQ(checked_add<int64_t>(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add<int64_t>(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add<uint64_t>(~uint64_t{0}, 1), std::nullopt);
}

TEST(Checked, MultipliesUpToTheLimit) {
  EXPECT_EQ(checked_mul<int64_t>(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checked_mul<int64_t>(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
}

TEST(Checked, ProductRefusesNegativeAndHugeExtents) {
  const auto product = [](std::vector<int64_t> extents) { return checked_product(extents); };
  EXPECT_EQ(product({}), 1);
  EXPECT_EQ(product({3, 5, 7}), 105);
  EXPECT_EQ(product({3, 0, 7}), 0);
  EXPECT_EQ(product({-1, 0}), std::nullopt);
  EXPECT_EQ(product({int64_t{1} << 40, int64_t{1} << 40}), std::nullopt);
  EXPECT_EQ(product({int64_t{1} << 40, 0, int64_t{1} << 40}), std::nullopt);
  EXPECT_EQ(product({0, int64_t{1} << 40, int64_t{1} << 40}), std::nullopt);
}

}  // namespace
}  // namespace focus
