// What a rule keeps, in integers: the only definition of the mask outside the test oracle. Every
// reported count of pairs comes from here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "focus/plan/group_sets.h"
#include "focus/plan/rule.h"

namespace focus {

struct PairCount {
  int64_t kept = 0;
  int64_t causal = 0;
  double share() const {
    return causal > 0 ? static_cast<double>(kept) / static_cast<double>(causal) : 1;
  }
  PairCount& operator+=(const PairCount& other) {
    kept += other.kept;
    causal += other.causal;
    return *this;
  }
};

// The queries at positions [first, first + queries) against the keys at [0, first + queries) of one
// sequence.
class Plan {
 public:
  struct Shape {
    int64_t first = 0, queries = 0, query_heads = 1, kv_heads = 1;
    // Start of the document of each key position, ascending; empty: one document.
    std::span<const int64_t> document_start = {};
  };

  // query_sets: the new tokens' Q, [queries] tokens, 1 or query_heads heads. key_sets: M of all
  // keys, at least first + queries tokens, 1 or kv_heads heads. Both nullptr: no groups (window,
  // sinks or dense alone). They must outlive the plan. Errors: kUsage (shapes that do not fit).
  Plan(const Rule& rule, const Shape& shape, const GroupSets* query_sets,
       const GroupSets* key_sets);

  int64_t keys() const { return shape_.first + shape_.queries; }
  const Shape& shape() const { return shape_; }
  const Rule& rule() const { return rule_; }
  const GroupSets* query_sets() const { return query_sets_; }
  const GroupSets* key_sets() const { return key_sets_; }

  // A query's keys by position: [lowest, sinks_end) and [near, end) are kept whatever the groups,
  // [sinks_end, near) by them, no others. Each bound only grows with the query.
  struct Bounds {
    int64_t lowest = 0, sinks_end = 0, near = 0, end = 0;
  };
  Bounds bounds(int64_t query) const {
    const int64_t i = shape_.first + query;
    const int64_t start = document(i);
    const int64_t lowest = i + 1 - causal_keys(query);
    const int64_t near =
        i - start < rule_.dense_until ? lowest : std::max(lowest, i - rule_.window);
    const int64_t sinks_end = std::clamp(start + std::min(rule_.sinks, keys()), lowest, near);
    return {lowest, sinks_end, near, i + 1};
  }
  bool is_sink(int64_t position) const { return position - document(position) < rule_.sinks; }

  // Fills kept[j] with 1 or 0 for j in [0, keys()) and returns how many are 1. query counts from
  // shape.first.
  int64_t row(int64_t query_head, int64_t query, std::span<uint8_t> kept) const;
  // The kept positions in ascending order.
  void kept_keys(int64_t query_head, int64_t query, std::vector<int32_t>& keys) const;
  // Over all query heads and queries; the causal pairs of a document that the model's limit allows.
  // Takes time O(queries) without group sets, else O(queries * query_heads * keys).
  PairCount count() const;
  // Causal pairs of one query, all of them allowed by the model's limit.
  int64_t causal_keys(int64_t query) const {
    const int64_t i = shape_.first + query;
    return std::min(i - document(i) + 1, rule_.limit);
  }
  int64_t kv_head(int64_t query_head) const {
    return query_head / (shape_.query_heads / shape_.kv_heads);
  }

 private:
  int64_t document(int64_t position) const {
    return shape_.document_start.empty() ? 0 : shape_.document_start[position];
  }
  // Marks the far keys in [begin, end) that share a group with the query.
  void mark_groups(int64_t query_head, int64_t query, int64_t begin, int64_t end,
                   std::span<uint8_t> kept) const;

  Rule rule_;
  Shape shape_;
  const GroupSets* query_sets_;
  const GroupSets* key_sets_;
};

// Kept share of the causal pairs of a window of `tokens` under the rule without groups.
double near_share(const Rule& rule, int64_t tokens);

}  // namespace focus
