#include "focus/plan/plan.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "focus/base/error.h"

namespace focus {
namespace {

// The rule of docs/method.md word for word, on sets, sharing nothing with the plan.
struct Oracle {
  Rule rule;
  std::vector<std::set<int>> read;    // Q of each position (one head)
  std::vector<std::set<int>> member;  // M of each position
  std::vector<int64_t> start;

  bool keeps(int64_t i, int64_t j) const {
    if (j > i || start[i] != start[j]) return false;
    if (rule.limit != Rule::kNoLimit && i - j >= rule.limit) return false;
    if (i - j <= rule.window || j - start[j] < rule.sinks || i - start[i] < rule.dense_until)
      return true;
    for (int g : read[i]) {
      if (member[j].count(g) != 0) return true;
    }
    return false;
  }
};

TEST(Plan, EqualsTheRuleOnRandomCases) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int64_t kv_heads = pick(1, 3), heads = kv_heads * pick(1, 3), tokens = pick(1, 90);
    const int64_t groups = std::vector<int64_t>{1, 8, 63, 64, 65, 200}[pick(0, 5)];
    const int64_t first = pick(0, tokens - 1);
    const bool shared_keys = pick(0, 3) == 0, shared_queries = pick(0, 3) == 0;
    const Rule rule{.window = pick(0, 20),
                    .sinks = pick(0, 5),
                    .dense_until = pick(0, 2) * pick(0, 20),
                    .limit = pick(0, 1) == 0 ? Rule::kNoLimit : pick(1, 40)};
    std::vector<int64_t> start(tokens, 0);
    if (pick(0, 1) == 1) {
      for (int64_t t = 1; t < tokens; ++t) start[t] = pick(0, 15) == 0 ? t : start[t - 1];
    }
    GroupSets queries(groups, shared_queries ? 1 : heads), keys(groups, shared_keys ? 1 : kv_heads);
    queries.grow(tokens - first);
    keys.grow(tokens);
    std::vector<Oracle> oracles(heads, Oracle{rule, std::vector<std::set<int>>(tokens),
                                              std::vector<std::set<int>>(tokens), start});
    const auto random_set = [&] {
      std::set<int> set;
      for (int64_t n = pick(0, 3); n > 0; --n) set.insert(static_cast<int>(pick(0, groups - 1)));
      return set;
    };
    for (int64_t t = first; t < tokens; ++t) {
      for (int64_t h = 0; h < queries.heads(); ++h) {
        const auto set = random_set();
        for (int g : set) queries.add(t - first, h, g);
        for (int64_t q = shared_queries ? 0 : h; q < (shared_queries ? heads : h + 1); ++q)
          oracles[q].read[t] = set;
      }
    }
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t h = 0; h < keys.heads(); ++h) {
        const auto set = random_set();
        for (int g : set) keys.add(t, h, g);
        for (int64_t q = 0; q < heads; ++q) {
          if (shared_keys || q / (heads / kv_heads) == h) oracles[q].member[t] = set;
        }
      }
    }
    const Plan plan(rule, {first, tokens - first, heads, kv_heads, start}, &queries, &keys);
    PairCount expected;
    std::vector<uint8_t> kept(tokens);
    std::vector<int32_t> list;
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = first; i < tokens; ++i) {
        const int64_t count = plan.row(h, i - first, kept);
        std::vector<int32_t> wanted;
        for (int64_t j = 0; j < tokens; ++j) {
          const bool keeps = oracles[h].keeps(i, j);
          ASSERT_EQ(kept[j] != 0, keeps) << "head " << h << " query " << i << " key " << j;
          if (keeps) wanted.push_back(static_cast<int32_t>(j));
          const bool causal = j <= i && start[i] == start[j] &&
                              (rule.limit == Rule::kNoLimit || i - j < rule.limit);
          expected.causal += causal;
        }
        ASSERT_EQ(count, static_cast<int64_t>(wanted.size()));
        plan.kept_keys(h, i - first, list);
        ASSERT_EQ(list, wanted);
        expected.kept += count;
      }
    }
    EXPECT_EQ(plan.count().kept, expected.kept);
    EXPECT_EQ(plan.count().causal, expected.causal);
  }
}

TEST(Plan, AnEarlierRowIsTheSameInEveryLongerSequence) {
  // Guarantee: nothing in the rule depends on the total length.
  std::mt19937 random(7);
  GroupSets queries(16, 1), keys(16, 1);
  queries.grow(64);
  keys.grow(64);
  for (int64_t t = 0; t < 64; ++t) {
    queries.add(t, 0, random() % 16);
    keys.add(t, 0, random() % 16);
  }
  const Rule rule{.window = 3, .sinks = 2};
  std::vector<uint8_t> full(64), shorter(64);
  const Plan long_plan(rule, {0, 64, 1, 1, {}}, &queries, &keys);
  for (int64_t length = 1; length <= 64; ++length) {
    const Plan plan(rule, {0, length, 1, 1, {}}, &queries, &keys);
    for (int64_t i = 0; i < length; ++i) {
      plan.row(0, i, shorter);
      long_plan.row(0, i, full);
      ASSERT_TRUE(std::equal(shorter.begin(), shorter.begin() + length, full.begin()));
    }
  }
}

TEST(Plan, RefusesShapesThatDoNotFit) {
  GroupSets queries(8, 2), keys(8, 1), other(9, 1);
  queries.grow(4);
  keys.grow(3);
  other.grow(4);
  EXPECT_THROW(Plan(Rule{}, {0, 4, 3, 1, {}}, &queries, &keys), Error);
  EXPECT_THROW(Plan(Rule{}, {0, 4, 2, 1, {}}, &queries, &keys), Error);
  EXPECT_THROW(Plan(Rule{}, {0, 4, 2, 1, {}}, &queries, &other), Error);
  EXPECT_THROW(Plan(Rule{}, {0, 4, 2, 1, {}}, &queries, nullptr), Error);
  EXPECT_THROW(Plan(Rule{}, {0, 4, 3, 2, {}}, nullptr, nullptr), Error);
  EXPECT_THROW(GroupSets(0, 1), Error);
}

TEST(GroupSets, CountsGroupsAndTheirEffectiveNumber) {
  GroupSets sets(70, 2);
  sets.grow(4);
  for (int64_t t = 0; t < 4; ++t) sets.add(t, 1, t < 2 ? 3 : 69);
  EXPECT_EQ(sets.group_sizes(1)[3], 2);
  EXPECT_EQ(sets.group_sizes(1)[69], 2);
  EXPECT_EQ(sets.group_sizes(0)[3], 0);
  EXPECT_DOUBLE_EQ(effective_groups(sets.group_sizes(1)), 2);
  EXPECT_DOUBLE_EQ(effective_groups(sets.group_sizes(0)), 0);
  sets.truncate(1);
  EXPECT_EQ(sets.tokens(), 1);
  EXPECT_EQ(sets.grow(1), 1);
  EXPECT_FALSE(sets.contains(1, 1, 3)) << "regrown tokens start empty";
}

}  // namespace
}  // namespace focus
