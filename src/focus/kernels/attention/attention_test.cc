#include "focus/kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "focus/base/error.h"

namespace focus {
namespace {

float to_float(float x) { return x; }
float to_float(Bf16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

struct Options {
  int64_t first = 0, queries = 1, query_heads = 1, kv_heads = 1, dim = 64;
  int64_t window = 0, sinks = 0, groups = 0, read = 1, members = 1;
  int64_t sweep_until = 0;  // queries before this position go through all keys with the filter
  double soft_cap = 0, spread = 1;
};

// The simplest work list with the structure that plan/ gives: window, sinks, groups, sweeps.
class TestWork : public AttentionWork {
 public:
  TestWork(const Options& o, unsigned seed) : o_(o), keys_(o.first + o.queries) {
    std::mt19937 random(seed);
    const int64_t groups = std::max<int64_t>(1, o.groups);
    words_ = (groups + 63) / 64;
    member_.resize(keys_ * o.kv_heads);
    queries_.assign(o.queries * o.query_heads * words_, 0);
    for (auto& groups_of_key : member_) {
      if (o.groups == 0) continue;
      for (int64_t n = 0; n < o.members; ++n)
        groups_of_key.push_back(static_cast<uint16_t>(random() % o.groups));
      std::sort(groups_of_key.begin(), groups_of_key.end());
      groups_of_key.erase(std::unique(groups_of_key.begin(), groups_of_key.end()),
                          groups_of_key.end());
    }
    for (int64_t n = 0; o.groups > 0 && n < o.queries * o.query_heads; ++n) {
      for (int64_t r = 0; r < o.read; ++r) {
        const uint64_t g = random() % o.groups;
        queries_[n * words_ + g / 64] |= uint64_t{1} << (g % 64);
      }
    }
    heads_.resize(o.kv_heads);
    for (int64_t kv = 0; kv < o.kv_heads; ++kv) {
      auto& head = heads_[kv];
      head.offsets.push_back(0);
      for (int64_t g = 0; g < o.groups; ++g) {
        for (int64_t j = o.sinks; j < keys_; ++j) {
          const auto& m = member_[j * o.kv_heads + kv];
          if (std::find(m.begin(), m.end(), g) != m.end())
            head.positions.push_back(static_cast<int32_t>(j));
        }
        head.offsets.push_back(static_cast<int32_t>(head.positions.size()));
      }
      head.key_offsets.push_back(0);
      for (int64_t j = 0; j < keys_; ++j) {
        const auto& m = member_[j * o.kv_heads + kv];
        head.key_groups.insert(head.key_groups.end(), m.begin(), m.end());
        head.key_offsets.push_back(static_cast<int32_t>(head.key_groups.size()));
      }
    }
  }

  bool reads(int64_t head, int64_t query, int64_t group) const {
    return (queries_[(query * o_.query_heads + head) * words_ + group / 64] >> (group % 64) & 1) !=
           0;
  }
  // The rule, word for word.
  bool keeps(int64_t head, int64_t query, int64_t j) const {
    const int64_t i = o_.first + query;
    if (j > i) return false;
    if (i - j <= o_.window || j < o_.sinks) return true;
    for (uint16_t g : member_[j * o_.kv_heads + head / (o_.query_heads / o_.kv_heads)]) {
      if (reads(head, query, g)) return true;
    }
    return false;
  }

  KeyLists lists(int64_t kv_head) const override {
    if (o_.groups == 0) return {};
    return {heads_[kv_head].offsets, heads_[kv_head].positions};
  }
  void block(int64_t kv_head, int64_t first, int64_t count, BlockWork& work) const override {
    const auto& head = heads_[kv_head];
    const int64_t per_kv = o_.query_heads / o_.kv_heads;
    work.near.assign(count, {});
    work.passes.clear();
    work.lanes.clear();
    work.filter = {
        .query_sets = queries_.data() + (first * o_.query_heads + kv_head * per_kv) * words_,
        .query_stride = o_.query_heads * words_,
        .head_stride = words_,
        .words = words_,
        .offsets = head.key_offsets.data(),
        .groups = head.key_groups.data()};
    for (int64_t n = 0; n < count; ++n) {
      const auto i = static_cast<int32_t>(o_.first + first + n);
      const int32_t near = std::max<int32_t>(0, i - static_cast<int32_t>(o_.window));
      const int32_t sinks = std::min<int32_t>(static_cast<int32_t>(o_.sinks), near);
      work.near[n] = i < o_.sweep_until ? NearRows{0, 0, 0, i + 1, sinks, near}
                                        : NearRows{0, sinks, near, i + 1, 0, 0};
    }
    for (int32_t g = 0; g < o_.groups; ++g) {
      const auto list = lists(kv_head);
      const auto rows =
          list.positions.subspan(list.offsets[g], list.offsets[g + 1] - list.offsets[g]);
      GroupPass pass{g, static_cast<int32_t>(work.lanes.size()), 0, o_.members > 1};
      for (int64_t n = 0; n < count; ++n) {
        if (o_.first + first + n < o_.sweep_until) continue;
        const auto end = std::lower_bound(rows.begin(), rows.end(), work.near[n].begin);
        for (int64_t h = 0; h < per_kv; ++h) {
          if (reads(kv_head * per_kv + h, first + n, g) && end != rows.begin())
            work.lanes.push_back({static_cast<int32_t>(n * per_kv + h), 0,
                                  static_cast<int32_t>(end - rows.begin())});
        }
      }
      pass.count = static_cast<int32_t>(work.lanes.size()) - pass.first;
      if (pass.count > 0) work.passes.push_back(pass);
    }
  }

 private:
  struct Head {
    std::vector<int32_t> offsets, positions, key_offsets;
    std::vector<uint16_t> key_groups;
  };
  Options o_;
  int64_t keys_, words_ = 1;
  std::vector<std::vector<uint16_t>> member_;  // [keys, kv_heads]
  std::vector<uint64_t> queries_;              // [queries, query_heads, words]
  std::vector<Head> heads_;
};

void serial(int64_t n, const std::function<void(int64_t, int64_t)>& body) { body(0, n); }

template <typename T>
struct Tensors {
  std::vector<T> q, k, v;
  Tensors(const Options& o, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, static_cast<float>(o.spread));
    const auto fill = [&](std::vector<T>& x, int64_t n) {
      x.resize(n);
      for (T& value : x) {
        if constexpr (std::is_same_v<T, float>)
          value = normal(random);
        else
          value = bf16_from_float(normal(random));
      }
    };
    fill(q, o.queries * o.query_heads * o.dim);
    fill(k, (o.first + o.queries) * o.kv_heads * o.dim);
    fill(v, (o.first + o.queries) * o.kv_heads * o.dim);
  }
};

template <typename T>
struct Result {
  std::vector<T> out;
  std::vector<float> lse;
};

template <typename T>
Result<T> forward(const Options& o, const Tensors<T>& x, const AttentionWork& work,
                  const ParallelFor& parallel = serial) {
  Result<T> r{std::vector<T>(x.q.size()), std::vector<float>(o.queries * o.query_heads)};
  const AttentionShape shape{.queries = o.queries,
                             .keys = o.first + o.queries,
                             .query_heads = o.query_heads,
                             .kv_heads = o.kv_heads,
                             .dim = o.dim,
                             .scale = 1 / std::sqrt(static_cast<double>(o.dim)),
                             .soft_cap = o.soft_cap};
  const int64_t q_stride = o.query_heads * o.dim, k_stride = o.kv_heads * o.dim;
  attention_forward<T>(shape, {x.q.data(), q_stride, o.dim}, {x.k.data(), k_stride, o.dim},
                       {x.v.data(), k_stride, o.dim}, work, {r.out.data(), q_stride, o.dim},
                       r.lse.data(), parallel);
  return r;
}

// Softmax in double over the rule's pairs.
template <typename T>
void expect_exact(const Options& o, unsigned seed, double tolerance) {
  const Tensors<T> x(o, seed);
  const TestWork work(o, seed + 1);
  const auto r = forward(o, x, work);
  const int64_t per_kv = o.query_heads / o.kv_heads;
  for (int64_t i = 0; i < o.queries; ++i) {
    for (int64_t h = 0; h < o.query_heads; ++h) {
      const int64_t kv = h / per_kv;
      std::vector<double> scores;
      std::vector<int64_t> kept;
      for (int64_t j = 0; j <= o.first + i; ++j) {
        if (!work.keeps(h, i, j)) continue;
        double score = 0;
        for (int64_t d = 0; d < o.dim; ++d)
          score += static_cast<double>(to_float(x.q[(i * o.query_heads + h) * o.dim + d])) *
                   to_float(x.k[(j * o.kv_heads + kv) * o.dim + d]);
        score /= std::sqrt(static_cast<double>(o.dim));
        if (o.soft_cap > 0) score = o.soft_cap * std::tanh(score / o.soft_cap);
        scores.push_back(score);
        kept.push_back(j);
      }
      double top = -INFINITY, total = 0;
      for (double s : scores) top = std::max(top, s);
      std::vector<double> expected(o.dim, 0);
      for (size_t n = 0; n < kept.size(); ++n) {
        const double w = std::exp(scores[n] - top);
        total += w;
        for (int64_t d = 0; d < o.dim; ++d)
          expected[d] += w * to_float(x.v[(kept[n] * o.kv_heads + kv) * o.dim + d]);
      }
      ASSERT_NEAR(r.lse[i * o.query_heads + h], top + std::log(total), 1e-5 * o.spread * o.spread);
      for (int64_t d = 0; d < o.dim; ++d) {
        const double want = expected[d] / total;
        ASSERT_NEAR(to_float(r.out[(i * o.query_heads + h) * o.dim + d]), want,
                    tolerance * std::max(1.0, std::is_same_v<T, Bf16> ? std::abs(want) : 1.0))
            << "query " << i << " head " << h << " d " << d;
      }
    }
  }
}

const std::vector<Options>& cases() {
  static const std::vector<Options> all = [] {
    std::vector<Options> list;
    for (int64_t dim : {64, 80, 96, 128, 256, 8}) {
      list.push_back({.queries = 70, .query_heads = 3, .dim = dim, .window = 1000});
      list.push_back({.queries = 200,
                      .query_heads = 4,
                      .kv_heads = 2,
                      .dim = dim,
                      .window = 9,
                      .sinks = 3,
                      .groups = 5,
                      .read = 2});
    }
    for (int64_t heads : {1, 2, 7, 9}) {
      list.push_back({.queries = 150,
                      .query_heads = heads,
                      .window = 20,
                      .sinks = 4,
                      .groups = 70,
                      .read = 9});
      list.push_back(
          {.first = 90, .queries = 61, .query_heads = heads, .window = 0, .groups = 3, .read = 1});
    }
    list.push_back({.queries = 300,
                    .query_heads = 3,
                    .window = 5,
                    .sinks = 2,
                    .groups = 9,
                    .read = 3,
                    .members = 3});
    list.push_back({.queries = 300,
                    .query_heads = 3,
                    .window = 5,
                    .sinks = 2,
                    .groups = 9,
                    .read = 3,
                    .members = 2,
                    .sweep_until = 170});
    list.push_back({.queries = 200,
                    .query_heads = 3,
                    .window = 30,
                    .sinks = 2,
                    .groups = 64,
                    .read = 8,
                    .sweep_until = 500});
    list.push_back({.queries = 130, .query_heads = 2, .window = 3, .groups = 4, .soft_cap = 2.5});
    list.push_back({.queries = 130, .query_heads = 2, .window = 1000, .soft_cap = 50});
    list.push_back({.queries = 1, .window = 3});
    return list;
  }();
  return all;
}

TEST(AttentionForward, EqualsSoftmaxInDouble) {
  unsigned seed = 10;
  for (const auto& o : cases()) {
    SCOPED_TRACE(testing::Message() << "case " << seed / 10 - 1 << " dim " << o.dim);
    expect_exact<float>(o, seed, 5e-6);
    // Inputs are the same bf16 numbers on both sides; the output is rounded to 8 bits.
    expect_exact<Bf16>(o, seed, 0x1p-8);
    seed += 10;
  }
}

TEST(AttentionForward, LargeScoresMoveTheReference) {
  // Scores of spread 100: each lane's reference moves several times, within lists and between them.
  expect_exact<float>({.queries = 300,
                       .query_heads = 3,
                       .window = 4,
                       .sinks = 1,
                       .groups = 4,
                       .read = 2,
                       .spread = 3.5},
                      7, 5e-4);
}

TEST(AttentionForward, ALanesBitsDependOnItsOwnKeysAlone) {
  for (auto o : cases()) {
    const Tensors<float> x(o, 1);
    const TestWork work(o, 2);
    const auto whole = forward(o, x, work);
    // Later tokens changed, NaN among them: earlier outputs keep every bit.
    Tensors<float> other = x;
    const int64_t change = o.queries / 2;
    for (size_t n = change * o.query_heads * o.dim; n < other.q.size(); ++n) other.q[n] = NAN;
    for (size_t n = (o.first + change) * o.kv_heads * o.dim; n < other.k.size(); ++n) {
      other.k[n] = n % 3 == 0 ? NAN : 40.0f;
      other.v[n] = n % 2 == 0 ? NAN : INFINITY;
    }
    const auto changed = forward(o, other, work);
    const size_t same = change * o.query_heads * o.dim;
    ASSERT_EQ(std::memcmp(whole.out.data(), changed.out.data(), same * sizeof(float)), 0);
    // The first half alone: other blocks, the same bits.
    if (change == 0) continue;
    Result<float> r{std::vector<float>(same), std::vector<float>(change * o.query_heads)};
    const int64_t q_stride = o.query_heads * o.dim, k_stride = o.kv_heads * o.dim;
    attention_forward<float>({.queries = change,
                              .keys = o.first + o.queries,
                              .query_heads = o.query_heads,
                              .kv_heads = o.kv_heads,
                              .dim = o.dim,
                              .scale = 1 / std::sqrt(static_cast<double>(o.dim)),
                              .soft_cap = o.soft_cap},
                             {x.q.data(), q_stride, o.dim}, {x.k.data(), k_stride, o.dim},
                             {x.v.data(), k_stride, o.dim}, work, {r.out.data(), q_stride, o.dim},
                             nullptr, serial);
    ASSERT_EQ(std::memcmp(whole.out.data(), r.out.data(), same * sizeof(float)), 0);
  }
}

TEST(AttentionForward, ThreadsChangeNoBit) {
  const Options o{.queries = 700,
                  .query_heads = 6,
                  .kv_heads = 2,
                  .window = 30,
                  .sinks = 4,
                  .groups = 16,
                  .read = 3};
  const Tensors<float> x(o, 1);
  const TestWork work(o, 2);
  const ParallelFor two = [](int64_t n, const std::function<void(int64_t, int64_t)>& body) {
    std::thread other([&] { body(n / 2, n); });
    body(0, n / 2);
    other.join();
  };
  const auto one = forward(o, x, work), both = forward(o, x, work, two);
  EXPECT_EQ(one.out, both.out);
  EXPECT_EQ(one.lse, both.lse);
}

TEST(AttentionForward, RowsWithoutKeysAreZeroAndMinusInfinity) {
  class Nothing : public AttentionWork {
   public:
    void block(int64_t, int64_t, int64_t count, BlockWork& work) const override {
      work.near.assign(count, {});
      work.passes.clear();
    }
    KeyLists lists(int64_t) const override { return {}; }
  };
  const Options o{.queries = 5, .query_heads = 2, .dim = 16};
  const auto r = forward(o, Tensors<float>(o, 1), Nothing());
  for (float x : r.out) EXPECT_EQ(x, 0);
  for (float x : r.lse) EXPECT_EQ(x, -INFINITY);
}

TEST(AttentionForward, UnsupportedShapesAreErrors) {
  const Options o{.queries = 2};
  const Tensors<float> x(o, 1);
  const TestWork work(o, 1);
  for (int64_t dim : {0, 7, 12, 264}) {
    AttentionShape shape{.queries = 2, .keys = 2, .dim = dim};
    EXPECT_THROW(
        attention_forward<float>(shape, {x.q.data(), 64, 64}, {x.k.data(), 64, 64},
                                 {x.v.data(), 64, 64}, work, {nullptr, 64, 64}, nullptr, serial),
        Error);
  }
}

}  // namespace
}  // namespace focus
