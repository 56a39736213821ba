#include "focus/ops/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace focus {
namespace {

struct Case {
  int64_t first, queries, heads, kv_heads, dim, groups;
  Rule rule;
};

// softmax over the kept keys in double, the mask taken from the plan's own rows (plan_test.cc
// judges those).
at::Tensor oracle(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Plan& plan,
                  double scale) {
  const auto& shape = plan.shape();
  const auto out = at::zeros({shape.queries, shape.query_heads * q.size(2)}, at::kDouble);
  std::vector<uint8_t> kept(plan.keys());
  for (int64_t i = 0; i < shape.queries; ++i) {
    for (int64_t h = 0; h < shape.query_heads; ++h) {
      plan.row(h, i, kept);
      const auto mask = at::from_blob(kept.data(), {plan.keys()}, at::kByte).to(at::kBool);
      const int64_t kv = plan.kv_head(h);
      const auto scores =
          at::matmul(k.select(1, kv).to(at::kDouble), q[i][h].to(at::kDouble)) * scale;
      const auto weights = at::softmax(scores.masked_fill(mask.logical_not(), -INFINITY), 0);
      out[i]
          .narrow(0, h * q.size(2), q.size(2))
          .copy_(at::matmul(weights, v.select(1, kv).to(at::kDouble)));
    }
  }
  return out;
}

void check(const Case& c, uint64_t seed) {
  at::manual_seed(seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const int64_t keys = c.first + c.queries;
  const auto q = at::randn({c.queries, c.heads, c.dim}), k = at::randn({keys, c.kv_heads, c.dim}),
             v = at::randn({keys, c.kv_heads, c.dim});
  GroupSets query_sets(std::max<int64_t>(1, c.groups), c.heads),
      key_sets(std::max<int64_t>(1, c.groups), c.kv_heads);
  query_sets.grow(c.queries);
  key_sets.grow(keys);
  for (int64_t t = 0; c.groups > 0 && t < keys; ++t) {
    for (int64_t h = 0; h < c.kv_heads; ++h) key_sets.add(t, h, random() % c.groups);
    for (int64_t h = 0; t < c.queries && h < c.heads; ++h)
      query_sets.add(t, h, random() % c.groups);
  }
  const Plan plan(c.rule, {c.first, c.queries, c.heads, c.kv_heads, {}},
                  c.groups > 0 ? &query_sets : nullptr, c.groups > 0 ? &key_sets : nullptr);
  const double scale = 1 / std::sqrt(static_cast<double>(c.dim));
  for (at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto qt = q.to(type), kt = k.to(type), vt = v.to(type);
    const auto expected = oracle(qt, kt, vt, plan, scale);
    // fp32: unit-variance inputs, sums of at most a few hundred terms. bf16: the output alone is
    // rounded to 8 bits, and SDPA rounds the weights too; |v| stays below 5.
    const double tolerance = type == at::kFloat ? 5e-6 : 5 * 0x1p-7;
    for (AttentionRunner runner : {AttentionRunner::kAuto, AttentionRunner::kInvariant}) {
      SCOPED_TRACE(runner == AttentionRunner::kInvariant ? "rows" : "auto");
      PairCount count;
      std::vector<int32_t> rows;
      const auto out = attention(qt, kt, vt, plan, scale, runner, &count, &rows);
      ASSERT_EQ(out.scalar_type(), type);
      EXPECT_LE((out.to(at::kDouble) - expected).abs().max().item<double>(), tolerance);
      EXPECT_EQ(count.kept, plan.count().kept);
      EXPECT_EQ(count.causal, plan.count().causal);
      int64_t sum = 0;
      for (int32_t kept : rows) sum += kept;
      EXPECT_EQ(sum, count.kept);
    }
  }
}

TEST(Attention, EqualsSoftmaxInDoubleUnderEveryPlan) {
  uint64_t seed = 0;
  for (const auto& [heads, kv_heads] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {4, 1}, {8, 1}, {7, 1}, {6, 2}, {3, 3}}) {
    for (int64_t dim : {20, 64}) {
      SCOPED_TRACE(testing::Message() << heads << "/" << kv_heads << " of " << dim);
      check({0, 70, heads, kv_heads, dim, 0, Rule::dense()}, ++seed);
      check({0, 70, heads, kv_heads, dim, 0, {.window = 7, .sinks = 2}}, ++seed);
      check({0, 70, heads, kv_heads, dim, 8, {.window = 7, .sinks = 2}}, ++seed);
      check({33, 40, heads, kv_heads, dim, 8, {.window = 3, .dense_until = 20, .limit = 30}},
            ++seed);
      check({50, 1, heads, kv_heads, dim, 8, {.window = 3}}, ++seed);
      check({0, 1, heads, kv_heads, dim, 8, {}}, ++seed);
    }
  }
}

TEST(Attention, BlocksOfKeysThatAQueryLosesWholeAreHarmless) {
  // Without sinks, late queries keep nothing of the first blocks that SDPA goes through.
  check({0, 700, 1, 1, 16, 0, {.window = 5}}, 1);
  check({0, 700, 1, 1, 16, 0, {}}, 2);
}

}  // namespace
}  // namespace focus
