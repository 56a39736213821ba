// The guarantees of docs/method.md, for dense and every causal routing: (a) the future changes no
// bit, (b) decisions replayed, other shapes agree, (c) free decisions differ only at near ties, (d)
// batch-invariant runs are bit-equal.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "focus/base/error.h"
#include "focus/nn/learned_router.h"
#include "models.h"

namespace focus::testing {
namespace {

constexpr int64_t kTokens = 96;
const std::vector<std::vector<int64_t>> kSplits{
    {1, 95}, {40, 56}, {17, 1, 30, 48}, std::vector<int64_t>(96, 1)};

const Decoder& tiny() {
  static const Decoder decoder = load(golden("tiny_llama"), ComputeType::kF32);
  return decoder;
}

TEST(Guarantees, LaterTokensChangeNoBitOfEarlierOutputs) {
  const auto tokens = random_tokens(kTokens, tiny().config().vocab, 1);
  for (const Mask& mask : every_mask(tiny())) {
    SCOPED_TRACE(mask.name);
    for (const auto& pieces :
         std::vector<std::vector<int64_t>>{{96}, {40, 56}, std::vector<int64_t>(96, 1)}) {
      MaskedAttention attention(mask);
      auto cache = tiny().new_cache();
      const auto logits = run(tiny(), attention, tokens, pieces, cache);
      for (int64_t change : {1, 41, 60, 95}) {
        auto other = tokens;
        const auto fresh = random_tokens(kTokens, tiny().config().vocab, 7);
        std::copy(fresh.begin() + change, fresh.end(), other.begin() + change);
        auto other_cache = tiny().new_cache();
        const auto changed = run(tiny(), attention, other, pieces, other_cache);
        ASSERT_TRUE(at::equal(logits.narrow(0, 0, change), changed.narrow(0, 0, change)))
            << "change at " << change;
        ASSERT_FALSE(at::equal(logits.narrow(0, change, 1), changed.narrow(0, change, 1)))
            << "the change must show";
      }
    }
  }
}

// A router that breaks the rule: every key's group depends on the last token it was given.
class PeekingRouter : public Router {
 public:
  GroupSets route(const LayerInputs& inputs, GroupSets& keys) const override {
    if (keys.empty()) keys = GroupSets(2, 1);
    const int64_t tokens = inputs.q.size(0);
    GroupSets queries(2, 1);
    keys.grow(tokens);
    queries.grow(tokens);
    const bool sign = inputs.x[tokens - 1][0].item<float>() > 0;
    for (int64_t t = 0; t < tokens; ++t) {
      keys.add(inputs.first + t, 0, sign ? 1 : 0);
      queries.add(t, 0, 0);
    }
    return queries;
  }
};

TEST(Guarantees, ARouterThatLooksAheadIsCaught) {
  const auto tokens = random_tokens(kTokens, tiny().config().vocab, 1);
  bool caught = false;
  for (uint64_t seed = 0; seed < 8 && !caught; ++seed) {
    auto other = tokens;
    other.back() = random_tokens(1, tiny().config().vocab, seed)[0];
    at::Tensor logits[2];
    for (int n : {0, 1}) {
      MaskedAttention attention({"peeking", {.window = 5}, std::make_shared<PeekingRouter>()});
      auto cache = tiny().new_cache();
      logits[n] = run(tiny(), attention, n == 0 ? tokens : other, {kTokens}, cache);
    }
    caught = !at::equal(logits[0].narrow(0, 0, kTokens - 1), logits[1].narrow(0, 0, kTokens - 1));
  }
  EXPECT_TRUE(caught);
}

TEST(Guarantees, ReplayedDecisionsAgreeInEverySplit) {
  const auto tokens = random_tokens(kTokens, tiny().config().vocab, 2);
  for (const Mask& mask : every_mask(tiny())) {
    SCOPED_TRACE(mask.name);
    MaskedAttention attention(mask);
    RoutingRecord record;
    attention.record(&record);
    auto cache = tiny().new_cache();
    const auto once = run(tiny(), attention, tokens, {kTokens}, cache);
    const PairCount pairs = attention.pairs();
    // Each of the layers' sums over `hidden` products may round differently: half an ulp each, of
    // values no larger than the largest logit.
    const double tolerance = static_cast<double>(tiny().config().layers * tiny().config().hidden) *
                             0x1p-24 * once.abs().max().item<double>();
    for (const auto& pieces : kSplits) {
      MaskedAttention replay(mask);
      replay.replay(&record);
      auto other = tiny().new_cache();
      const auto split = run(tiny(), replay, tokens, pieces, other);
      EXPECT_LE((split - once).abs().max().item<double>(), tolerance);
      EXPECT_EQ(replay.pairs().kept, pairs.kept);
      EXPECT_EQ(replay.pairs().causal, pairs.causal);
    }
  }
}

// What a router saw and decided in one run.
struct Seen {
  std::vector<LayerInputs> inputs;
  RoutingRecord record;
};

Seen watch(const Decoder& decoder, const Mask& mask, const std::vector<int32_t>& tokens,
           const std::vector<int64_t>& pieces) {
  const at::NoGradGuard frozen;
  Seen seen;
  MaskedAttention attention(mask);
  attention.record(&seen.record);
  auto cache = decoder.new_cache();
  size_t begin = 0;
  for (int64_t piece : pieces) {
    decoder.forward(std::span(tokens).subspan(begin, piece), cache,
                    [&](const LayerInputs& inputs, LayerCache& layer) {
                      if (static_cast<int64_t>(seen.inputs.size()) <= inputs.layer) {
                        seen.inputs.push_back({.layer = inputs.layer,
                                               .first = 0,
                                               .x = inputs.x,
                                               .q_raw = inputs.q_raw,
                                               .k_raw = inputs.k_raw});
                      } else {
                        auto& all = seen.inputs[inputs.layer];
                        all.x = at::cat({all.x, inputs.x});
                        all.q_raw = at::cat({all.q_raw, inputs.q_raw});
                        all.k_raw = at::cat({all.k_raw, inputs.k_raw});
                      }
                      return attention(inputs, layer);
                    });
    begin += piece;
  }
  return seen;
}

// Bound on how far each score can move with its features: |projection^T centroid| |change of the
// features|, plus the rounding of the score chains. [n, R, G]
at::Tensor score_bound(const RouterWeights& weights, const at::Tensor& change,
                       const at::Tensor& source) {
  const auto direction = at::bmm(weights.centroids, weights.projection);  // [R, G, W]
  const auto size = direction.norm(2, -1);                                // [R, G]
  const auto magnitude = at::bmm(weights.centroids.abs(), weights.projection.abs()).norm(2, -1);
  const double rounding =
      2.0 * static_cast<double>(weights.projection.size(2) + weights.projection.size(1) + 1) *
      0x1p-24;
  return change.norm(2, -1).unsqueeze(-1) * size +
         source.norm(2, -1).unsqueeze(-1) * magnitude * rounding + weights.bias.abs() * rounding;
}

// Members of `a` score at most bound-of-both above members of `b` where the sets differ; counts
// differing sets.
int64_t check_sets(const GroupSets& a, const GroupSets& b, const at::Tensor& scores,
                   const at::Tensor& bound) {
  int64_t differing = 0;
  for (int64_t t = 0; t < a.tokens(); ++t) {
    for (int64_t h = 0; h < a.heads(); ++h) {
      if (std::ranges::equal(a.set(t, h), b.set(t, h))) continue;
      ++differing;
      const auto s = scores[t][h], e = bound[t][h];
      for (int64_t g = 0; g < a.groups(); ++g) {
        if (!a.contains(t, h, g) || b.contains(t, h, g)) continue;
        for (int64_t other = 0; other < a.groups(); ++other) {
          if (!b.contains(t, h, other) || a.contains(t, h, other)) continue;
          const double gap = (s[g] - s[other]).item<double>();
          EXPECT_LE(gap, (e[g] + e[other]).item<double>()) << "token " << t << " head " << h;
        }
      }
    }
  }
  return differing;
}

void check_free_decisions(const Decoder& decoder, const Adapter& adapter,
                          const std::vector<int32_t>& tokens, const std::vector<int64_t>& pieces) {
  const Mask mask = adapter.mask("adapter");
  const LearnedRouter router(adapter.spec, adapter.base.shape, adapter.layers);
  const Seen once = watch(decoder, mask, tokens, {static_cast<int64_t>(tokens.size())});
  const Seen split = watch(decoder, mask, tokens, pieces);
  int64_t differing = 0, sets = 0;
  for (size_t n = 0; n < once.inputs.size(); ++n) {
    const auto &a = once.inputs[n], &b = split.inputs[n];
    const auto& layer = adapter.layers[n];
    differing +=
        check_sets(once.record.layers[n].queries, split.record.layers[n].queries,
                   router.query_scores(a), score_bound(layer.queries, a.q_raw - b.q_raw, a.q_raw));
    differing +=
        check_sets(once.record.layers[n].keys, split.record.layers[n].keys, router.key_scores(a),
                   score_bound(layer.keys, a.k_raw - b.k_raw, a.k_raw));
    sets += static_cast<int64_t>(tokens.size()) *
            (once.record.layers[n].queries.heads() + once.record.layers[n].keys.heads());
  }
  std::printf("[ rate     ] %lld of %lld sets differ between one prefill and %zu pieces\n",
              static_cast<long long>(differing), static_cast<long long>(sets), pieces.size());
  EXPECT_LT(static_cast<double>(differing), 0.05 * static_cast<double>(sets))
      << "near ties are rare";
}

TEST(Guarantees, FreeDecisionsDifferOnlyAtNearTies) {
  const auto tokens = random_tokens(kTokens, tiny().config().vocab, 3);
  for (int64_t groups : {8, 70}) {
    const RoutingSpec spec{.groups = groups, .rank = 6};
    check_free_decisions(tiny(), random_adapter(tiny(), spec, {.window = 5, .sinks = 2}, 4), tokens,
                         {17, 1, 30, 48});
  }
}

TEST(Guarantees, FreeDecisionsOfTheRealModelDifferOnlyAtNearTies) {
  if (real_model().empty())
    GTEST_SKIP() << "SmolLM2 is not here: run 'make model', or set FOCUS_MODEL_GGUF";
  const Decoder decoder = load(real_model(), default_compute_type());
  const auto tokens = random_tokens(200, decoder.config().vocab, 5);
  check_free_decisions(decoder,
                       random_adapter(decoder, {.rank = 16}, {.window = 16, .sinks = 4}, 6), tokens,
                       {100, 37, 63});
}

void check_batch_invariance(const Decoder& decoder, const Mask& mask,
                            const std::vector<int32_t>& tokens,
                            const std::vector<std::vector<int64_t>>& splits) {
  SCOPED_TRACE(mask.name);
  MaskedAttention attention(mask, AttentionRunner::kInvariant);
  auto cache = decoder.new_cache();
  const auto once = run(decoder, attention, tokens, {static_cast<int64_t>(tokens.size())}, cache);
  for (const auto& pieces : splits) {
    auto other = decoder.new_cache();
    ASSERT_TRUE(at::equal(run(decoder, attention, tokens, pieces, other), once))
        << pieces.size() << " pieces";
  }
  // Rollback: what follows a truncation equals a run that never saw the rest.
  const int64_t half = static_cast<int64_t>(tokens.size()) / 2;
  cache.truncate(half);
  const std::vector<int32_t> rest(tokens.begin() + half, tokens.end());
  const auto again = run(decoder, attention, rest, {static_cast<int64_t>(rest.size())}, cache);
  ASSERT_TRUE(at::equal(again, once.narrow(0, half, again.size(0)))) << "after a rollback";
}

TEST(Guarantees, BatchInvariantRunsAreBitEqual) {
  for (ComputeType compute : {ComputeType::kF32, ComputeType::kBF16}) {
    const Decoder decoder = load(golden("tiny_llama"), compute, true);
    const auto tokens = random_tokens(kTokens, decoder.config().vocab, 8);
    for (const Mask& mask : every_mask(decoder))
      check_batch_invariance(decoder, mask, tokens, kSplits);
  }
}

TEST(Guarantees, BatchInvariantRunsOfTheRealModelAreBitEqual) {
  if (real_model().empty())
    GTEST_SKIP() << "SmolLM2 is not here: run 'make model', or set FOCUS_MODEL_GGUF";
  const Decoder decoder = load(real_model(), default_compute_type(), true);
  const auto tokens = random_tokens(70, decoder.config().vocab, 9);
  const Adapter adapter = random_adapter(decoder, {}, {.window = 16, .sinks = 4}, 10);
  check_batch_invariance(decoder, adapter.mask("adapter"), tokens,
                         {{33, 37}, std::vector<int64_t>(70, 1)});
}

TEST(Guarantees, BalanceOverTheSequenceIsRefused) {
  const Adapter adapter = random_adapter(tiny(), {.groups = 8, .rank = 6}, {}, 1);
  RoutingSpec spec = adapter.spec;
  spec.balance = RoutingSpec::Balance::kSinkhorn;
  try {
    LearnedRouter(spec, adapter.base.shape, adapter.layers);
    FAIL() << "a routing that looks at later tokens must not run";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("sinkhorn"), std::string::npos);
  }
}

}  // namespace
}  // namespace focus::testing
