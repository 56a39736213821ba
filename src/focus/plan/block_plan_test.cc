#include "focus/plan/block_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

#include "focus/base/error.h"
#include "focus/base/random.h"

namespace focus {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr int64_t kRandomPlans = 4000;
#else
constexpr int64_t kRandomPlans = 100000;
#endif
constexpr Evaluation kEvaluations[] = {Evaluation::kAuto, Evaluation::kGroups, Evaluation::kSweep};

using Set = std::bitset<256>;

// A random problem with its sets twice: as the plan takes them, and as plain sets for the rule.
struct Problem {
  Rule rule;
  int64_t first = 0, tokens = 1, heads = 1, kv_heads = 1;
  std::vector<int64_t> start;  // [tokens]
  GroupSets queries, keys;
  std::vector<std::vector<Set>> read, member;  // [routing head][token]

  Plan plan() const {
    return Plan(rule, {first, tokens - first, heads, kv_heads, start},
                queries.empty() ? nullptr : &queries, keys.empty() ? nullptr : &keys);
  }
  // The rule of docs/method.md word for word.
  bool keeps(int64_t head, int64_t i, int64_t j) const {
    if (j > i || start[i] != start[j]) return false;
    if (rule.limit != Rule::kNoLimit && i - j >= rule.limit) return false;
    if (i - j <= rule.window || j - start[j] < rule.sinks || i - start[i] < rule.dense_until)
      return true;
    if (read.empty()) return false;
    return (read[read.size() == 1 ? 0 : head][i] &
            member[member.size() == 1 ? 0 : head / (heads / kv_heads)][j])
        .any();
  }
  void add_query(int64_t token, int64_t head, int64_t group) {
    queries.add(token - first, head, group);
    read[head][token].set(group);
  }
  void add_key(int64_t token, int64_t head, int64_t group) {
    keys.add(token, head, group);
    member[head][token].set(group);
  }
};

struct Sizes {
  int64_t least_tokens, most_tokens;
  std::vector<int64_t> groups;
};

// How many groups a set has: one, few, any number, all, or mostly the first (a giant group).
enum SetKind { kOne, kFew, kMany, kAll, kGiant, kKinds };

Problem random_problem(std::mt19937& random, const Sizes& sizes) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Problem p;
  p.tokens = pick(sizes.least_tokens, sizes.most_tokens);
  p.kv_heads = pick(1, 2);
  p.heads = p.kv_heads * pick(1, 3);
  p.first = pick(0, 1) == 0 ? 0 : pick(0, p.tokens - 1);
  p.rule = {.window = pick(0, 2) == 0 ? 0 : pick(0, p.tokens / 3 + 1),
            .sinks = pick(0, 9) == 0 ? p.tokens + pick(0, 5) : pick(0, 4),
            .dense_until = pick(0, 3) == 0 ? pick(0, p.tokens) : 0,
            .limit = pick(0, 2) == 0 ? pick(1, p.tokens + 2) : Rule::kNoLimit};
  if (pick(0, 49) == 0) p.rule.sinks = Rule::kNoLimit;
  if (pick(0, 49) == 0) p.rule.window = Rule::kNoLimit;
  if (pick(0, 49) == 0) p.rule = Rule::dense();
  p.start.assign(p.tokens, 0);
  if (pick(0, 2) == 0) {
    const int64_t rarity = pick(0, 20);
    for (int64_t t = 1; t < p.tokens; ++t) p.start[t] = pick(0, rarity) == 0 ? t : p.start[t - 1];
  }
  if (pick(0, 19) == 0) return p;
  const int64_t groups = sizes.groups[pick(0, static_cast<int64_t>(sizes.groups.size()) - 1)];
  p.queries = GroupSets(groups, pick(0, 2) == 0 ? 1 : p.heads);
  p.keys = GroupSets(groups, pick(0, 2) == 0 ? 1 : p.kv_heads);
  p.queries.grow(p.tokens - p.first);
  p.keys.grow(p.tokens + pick(0, 2));  // keys beyond the plan's must not matter
  p.read.assign(p.queries.heads(), std::vector<Set>(p.tokens));
  p.member.assign(p.keys.heads(), std::vector<Set>(p.keys.tokens()));
  const auto fill = [&](int64_t kind, auto add) {
    if (kind == kMany) kind = pick(0, 7) == 0 ? kAll : kFew;
    if (kind == kAll) {
      for (int64_t g = 0; g < groups; ++g) add(g);
    } else if (kind == kGiant && pick(0, 9) != 0) {
      add(0);
    } else {
      for (int64_t n = kind == kFew ? pick(0, 4) : 1; n > 0; --n) add(pick(0, groups - 1));
    }
  };
  const int64_t read_kind = pick(0, kKinds - 1), member_kind = pick(0, kKinds - 1);
  for (int64_t h = 0; h < p.queries.heads(); ++h) {
    for (int64_t t = p.first; t < p.tokens; ++t) {
      fill(read_kind, [&](int64_t g) { p.add_query(t, h, g); });
    }
  }
  for (int64_t h = 0; h < p.keys.heads(); ++h) {
    for (int64_t t = 0; t < p.keys.tokens(); ++t) {
      fill(member_kind, [&](int64_t g) { p.add_key(t, h, g); });
    }
  }
  return p;
}

const uint64_t* query_set(const GroupFilter& filter, int64_t query, int64_t head) {
  return filter.query_sets + query * filter.query_stride + head * filter.head_stride;
}

// Some group of key j that is below `below` is in the query's set.
bool shares(const GroupFilter& filter, const uint64_t* set, int32_t key, int64_t below) {
  for (int32_t n = filter.offsets[key]; n < filter.offsets[key + 1]; ++n) {
    const int64_t group = filter.groups[n];
    if (group < below && (set[group / 64] >> (group % 64) & 1) != 0) return true;
  }
  return false;
}

// Adds 1 to pairs[lane][key] for each pair of the work, and checks its order and bounds.
void expand(const BlockWork& work, const KeyLists& lists, int64_t count, int64_t heads,
            int64_t keys, std::vector<std::vector<uint8_t>>& pairs) {
  ASSERT_EQ(static_cast<int64_t>(work.near.size()), count);
  const int64_t all = int64_t{1} << 20;
  for (int64_t lane = 0; lane < count * heads; ++lane) {
    const NearRows& near = work.near[lane / heads];
    ASSERT_TRUE(0 <= near.sinks_begin && near.sinks_begin <= near.sinks_end);
    ASSERT_TRUE(near.sinks_end <= near.begin || near.sinks_begin == near.sinks_end);
    ASSERT_TRUE(near.begin <= near.filter_begin && near.filter_begin <= near.filter_end);
    ASSERT_TRUE(near.filter_end <= near.end && near.end <= keys);
    for (int32_t j = near.sinks_begin; j < near.sinks_end; ++j) ++pairs[lane][j];
    for (int32_t j = near.begin; j < near.end; ++j) {
      const bool filtered = near.filter_begin <= j && j < near.filter_end;
      pairs[lane][j] +=
          !filtered ||
          shares(work.filter, query_set(work.filter, lane / heads, lane % heads), j, all);
    }
  }
  int32_t group = -1, next = 0;
  for (const GroupPass& pass : work.passes) {
    ASSERT_GT(pass.group, group);
    ASSERT_EQ(pass.first, next);
    ASSERT_GT(pass.count, 0);
    group = pass.group;
    next = pass.first + pass.count;
    int32_t before = -1;
    for (int32_t n = pass.first; n < next; ++n) {
      const LaneRows& rows = work.lanes[n];
      ASSERT_GT(rows.lane, before);
      ASSERT_LT(rows.lane, count * heads);
      before = rows.lane;
      ASSERT_TRUE(0 <= rows.begin && rows.begin < rows.end);
      ASSERT_LE(rows.end, lists.offsets[group + 1] - lists.offsets[group]);
      const uint64_t* set = nullptr;
      if (pass.first_shared) set = query_set(work.filter, rows.lane / heads, rows.lane % heads);
      for (int32_t r = rows.begin; r < rows.end; ++r) {
        const int32_t key = lists.positions[lists.offsets[group] + r];
        pairs[rows.lane][key] += !pass.first_shared || !shares(work.filter, set, key, group);
      }
    }
  }
  ASSERT_EQ(static_cast<size_t>(next), work.lanes.size());
}

void check_problem(const Problem& p, int64_t block, bool count_rows) {
  const Plan plan = p.plan();
  const int64_t queries = p.tokens - p.first, heads = p.heads / p.kv_heads;
  std::vector<std::vector<uint8_t>> expected(queries * p.heads);
  std::vector<int32_t> expected_rows;
  PairCount expected_count;
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t h = 0; h < p.heads; ++h) {
      std::vector<uint8_t>& row = expected[q * p.heads + h];
      row.resize(p.tokens);
      for (int64_t j = 0; j <= p.first + q; ++j) row[j] = p.keeps(h, p.first + q, j);
      expected_rows.push_back(static_cast<int32_t>(std::count(row.begin(), row.end(), 1)));
      expected_count.kept += expected_rows.back();
    }
  }
  BlockWork work;
  std::vector<std::vector<uint8_t>> pairs;
  for (const Evaluation evaluation : kEvaluations) {
    SCOPED_TRACE(static_cast<int>(evaluation));
    const BlockPlan blocks(plan, evaluation);
    for (int64_t kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
      for (int64_t first = 0; first < queries; first += block) {
        const int64_t count = std::min(block, queries - first);
        blocks.block(kv_head, first, count, work);
        pairs.resize(count * heads);
        for (auto& row : pairs) row.assign(p.tokens, 0);
        expand(work, blocks.lists(kv_head), count, heads, p.tokens, pairs);
        if (testing::Test::HasFatalFailure()) return;
        for (int64_t lane = 0; lane < count * heads; ++lane) {
          const int64_t row = (first + lane / heads) * p.heads + kv_head * heads + lane % heads;
          ASSERT_EQ(pairs[lane], expected[row])
              << "KV head " << kv_head << " block " << first << " lane " << lane;
        }
      }
    }
    if (!count_rows) continue;
    std::vector<int32_t> rows;
    const PairCount counted = blocks.count(&rows);
    ASSERT_EQ(rows, expected_rows);
    ASSERT_EQ(counted.kept, expected_count.kept);
    ASSERT_EQ(counted.causal, plan.count().causal);
    ASSERT_EQ(counted.kept, plan.count().kept);
  }
}

TEST(BlockPlan, HasEachKeptPairOnceOnRandomCases) {
  const Sizes sizes{1, 24, {1, 2, 3, 8, 16, 63, 64, 65, 130, 200}};
  const Sizes longer{25, 41, sizes.groups};
  for (int64_t seed = 0; seed < kRandomPlans; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    const Problem p = random_problem(random, seed % 10 == 0 ? longer : sizes);
    const int64_t queries = p.tokens - p.first;
    const int64_t block = seed % 3 == 0 ? queries : 1 + static_cast<int64_t>(random() % queries);
    check_problem(p, block, seed % 5 == 0);
    if (HasFatalFailure()) return;
  }
}

TEST(BlockPlan, HasEachKeptPairOnceOnLongerCases) {
  for (unsigned seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Problem p = random_problem(random, {650, 701, {64}});
    check_problem(p, std::vector<int64_t>{64, 100, 1000}[seed % 3], true);
    if (HasFatalFailure()) return;
  }
}

TEST(BlockPlan, FillsTheWorkOfASmallCase) {
  // 8 tokens, 1 sink, window 1; keys in group j % 2, every query reads group 0.
  GroupSets queries(2, 1), keys(2, 1);
  queries.grow(8);
  keys.grow(8);
  for (int64_t t = 0; t < 8; ++t) {
    queries.add(t, 0, 0);
    keys.add(t, 0, t % 2);
  }
  const Plan plan({.window = 1, .sinks = 1}, {0, 8, 1, 1, {}}, &queries, &keys);
  const BlockPlan groups(plan, Evaluation::kGroups), sweep(plan, Evaluation::kSweep);
  const KeyLists lists = groups.lists(0);
  EXPECT_EQ(std::vector<int32_t>(lists.offsets.begin(), lists.offsets.end()),
            (std::vector<int32_t>{0, 3, 7}));
  EXPECT_EQ(std::vector<int32_t>(lists.positions.begin(), lists.positions.end()),
            (std::vector<int32_t>{2, 4, 6, 1, 3, 5, 7}));
  BlockWork work;
  groups.block(0, 4, 4, work);
  ASSERT_EQ(work.passes.size(), 1u);
  EXPECT_EQ(work.passes[0].group, 0);
  EXPECT_FALSE(work.passes[0].first_shared);
  ASSERT_EQ(work.lanes.size(), 4u);
  const std::vector<int32_t> ends = {1, 1, 2, 2};  // keys 2 and 4, before position i - 1
  for (int32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(work.lanes[n].lane, n);
    EXPECT_EQ(work.lanes[n].begin, 0);
    EXPECT_EQ(work.lanes[n].end, ends[n]);
  }
  EXPECT_EQ(work.near[0].sinks_end, 1);
  EXPECT_EQ(work.near[0].begin, 3);
  EXPECT_EQ(work.near[0].end, 5);
  sweep.block(0, 4, 4, work);
  EXPECT_TRUE(work.passes.empty());
  EXPECT_TRUE(work.lanes.empty());
  EXPECT_EQ(work.near[0].sinks_end, 0);
  EXPECT_EQ(work.near[0].begin, 0);
  EXPECT_EQ(work.near[0].filter_begin, 1);
  EXPECT_EQ(work.near[0].filter_end, 3);
  EXPECT_EQ(work.near[0].end, 5);
}

TEST(BlockPlan, AutoSweepsTheQueriesWithFewFarKeys) {
  // 1 of 64 groups read: rho = 1.3 / 64, 12 rows an entry: up to 12 far keys are swept.
  GroupSets queries(64, 1), keys(64, 1);
  queries.grow(40);
  keys.grow(40);
  for (int64_t t = 0; t < 40; ++t) {
    queries.add(t, 0, 0);
    keys.add(t, 0, 0);
  }
  const Plan plan({.window = 3}, {0, 40, 1, 1, {}}, &queries, &keys);
  BlockWork work;
  BlockPlan(plan).block(0, 0, 40, work);
  for (int32_t i = 0; i < 40; ++i) {
    const NearRows& near = work.near[i];
    EXPECT_EQ(near.begin, i - 3 <= 12 ? 0 : i - 3) << i;
  }
  ASSERT_EQ(work.passes.size(), 1u);
  EXPECT_EQ(work.lanes[0].lane, 16);
}

// One query's part of the work, comparable across blocks.
std::vector<int64_t> work_of_query(const BlockWork& work, int64_t query, int64_t heads) {
  const NearRows& near = work.near[query];
  std::vector<int64_t> out = {near.sinks_begin, near.sinks_end,    near.begin,
                              near.end,         near.filter_begin, near.filter_end};
  for (const GroupPass& pass : work.passes) {
    for (int32_t n = pass.first; n < pass.first + pass.count; ++n) {
      const LaneRows& rows = work.lanes[n];
      if (rows.lane / heads == query) {
        out.insert(out.end(), {pass.group, rows.lane % heads, rows.begin, rows.end});
      }
    }
  }
  return out;
}

TEST(BlockPlan, EarlierWorkDoesNotDependOnLaterTokens) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Problem p = random_problem(random, {2, 60, {1, 8, 64, 100}});
    if (p.queries.empty() || p.tokens - p.first < 2) continue;
    const int64_t queries = p.tokens - p.first, heads = p.heads / p.kv_heads;
    const int64_t change = 1 + static_cast<int64_t>(random() % (queries - 1));
    Problem other = p;
    const auto replace = [&](GroupSets& sets, int64_t from) {
      for (int64_t t = from; t < sets.tokens(); ++t) {
        for (int64_t h = 0; h < sets.heads(); ++h) {
          for (uint64_t& word : sets.set(t, h)) word = 0;
          for (int64_t n = static_cast<int64_t>(random() % 5); n > 0; --n) {
            sets.add(t, h, static_cast<int64_t>(random() % sets.groups()));
          }
        }
      }
    };
    replace(other.queries, change);
    replace(other.keys, p.first + change);
    const Plan plan = p.plan(), other_plan = other.plan();
    BlockWork work, other_work;
    for (const Evaluation evaluation : kEvaluations) {
      const BlockPlan blocks(plan, evaluation), other_blocks(other_plan, evaluation);
      for (int64_t kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
        // Nor on where the block ends.
        blocks.block(kv_head, 0, queries, work);
        other_blocks.block(kv_head, 0, change, other_work);
        for (int64_t q = 0; q < change; ++q) {
          ASSERT_EQ(work_of_query(work, q, heads), work_of_query(other_work, q, heads));
        }
        other_blocks.block(kv_head, 0, queries, other_work);
        for (int64_t q = 0; q < change; ++q) {
          ASSERT_EQ(work_of_query(work, q, heads), work_of_query(other_work, q, heads));
        }
      }
    }
  }
}

TEST(BlockPlan, WithoutGroupsHasNearRowsAlone) {
  const Plan plan({.window = 2, .sinks = 1}, {0, 10, 2, 1, {}}, nullptr, nullptr);
  BlockWork work;
  work.lanes.resize(3);
  const BlockPlan blocks(plan);
  blocks.block(0, 0, 10, work);
  EXPECT_TRUE(work.passes.empty() && work.lanes.empty());
  EXPECT_TRUE(blocks.lists(0).offsets.empty());
  EXPECT_EQ(work.filter.query_sets, nullptr);
  EXPECT_EQ(blocks.count().kept, plan.count().kept);
}

TEST(BlockPlan, ThreadsChangeNothing) {
  std::mt19937 random(5);
  const Problem p = random_problem(random, {650, 701, {64}});
  const ParallelFor pieces = [](int64_t n, const std::function<void(int64_t, int64_t)>& body) {
    for (int64_t i = n; i-- > 0;) body(i, i + 1);
  };
  const Plan plan = p.plan();
  const BlockPlan one(plan), many(plan, Evaluation::kAuto, &pieces);
  std::vector<int32_t> rows, other_rows;
  EXPECT_EQ(one.count(&rows).kept, many.count(&other_rows, &pieces).kept);
  EXPECT_EQ(rows, other_rows);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Body>
double median_seconds(int rounds, Body body) {
  std::vector<double> times;
  for (int n = 0; n < rounds; ++n) {
    const double start = thread_seconds();
    body();
    times.push_back(thread_seconds() - start);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

// A partition of the keys into `groups`; each of 3 heads reads 4.
void measure(int64_t tokens, int64_t groups, int64_t block, Evaluation evaluation) {
  GroupSets queries(groups, 3), keys(groups, 1);
  queries.grow(tokens);
  keys.grow(tokens);
  Random random(1);
  for (int64_t t = 0; t < tokens; ++t) {
    keys.add(t, 0, random.below(groups));
    for (int64_t h = 0; h < 3; ++h) {
      for (int64_t n = 4; n > 0;) {
        const int64_t group = random.below(groups);
        n -= !queries.contains(t, h, group);
        queries.add(t, h, group);
      }
    }
  }
  const Plan plan({.window = 128, .sinks = 4}, {0, tokens, 3, 1, {}}, &queries, &keys);
  const int rounds = tokens > 100000 ? 5 : 21;
  const double build = median_seconds(rounds, [&] { const BlockPlan again(plan, evaluation); });
  const BlockPlan blocks(plan, evaluation);
  EXPECT_EQ(static_cast<int64_t>(blocks.lists(0).positions.size()), tokens - 4);
  BlockWork work;
  int64_t entries = 0;
  size_t most = 0;
  const double fill = median_seconds(rounds, [&] {
    entries = 0;
    for (int64_t first = 0; first < tokens; first += block) {
      blocks.block(0, first, std::min(block, tokens - first), work);
      entries += static_cast<int64_t>(work.lanes.size());
      most = std::max(most, work.lanes.capacity());
    }
  });
  EXPECT_LE(most, static_cast<size_t>(2 * block * 3 * 4)) << "memory of a block";
  const double pairs = median_seconds(3, [&] { blocks.count(); });
  std::printf(
      "%8ld keys %4ld groups block %5ld evaluation %d: constructor %7.3f ms, block %5.2f ns"
      " an entry (%ld), count %7.2f ms\n",
      static_cast<long>(tokens), static_cast<long>(groups), static_cast<long>(block),
      static_cast<int>(evaluation), build * 1e3,
      fill * 1e9 / static_cast<double>(std::max<int64_t>(entries, 1)), static_cast<long>(entries),
      pairs * 1e3);
}

TEST(BlockPlan, PrintsItsSpeed) {
  for (const int64_t block : {64, 256, 1024}) measure(16384, 64, block, Evaluation::kGroups);
  measure(4096, 64, 1024, Evaluation::kGroups);
  measure(131072, 64, 1024, Evaluation::kGroups);
  measure(16384, 64, 1024, Evaluation::kAuto);
  measure(16384, 256, 1024, Evaluation::kAuto);
  measure(16384, 64, 1024, Evaluation::kSweep);
}

TEST(BlockPlan, TakesAMillionKeys) { measure(1 << 20, 64, 1024, Evaluation::kAuto); }

}  // namespace
}  // namespace focus
