// The one rule of the project (docs/method.md): query i keeps key j iff
//   j <= i, same document, i - j < limit, and
//   (i - j <= window or j < sinks or i < dense_until or Q(i) and M(j) share a group).
// Positions count from the start of the document. Nothing in it depends on the total length.
#pragma once

#include <cstdint>
#include <limits>

namespace focus {

struct Rule {
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  int64_t window = 0;       // keys at distance <= window are always kept
  int64_t sinks = 0;        // the first keys are always kept
  int64_t dense_until = 0;  // queries before this position keep every earlier key
  int64_t limit =
      kNoLimit;  // the model's own sliding window: keys at distance >= limit are never kept

  // Keeps every causal pair.
  static Rule dense() { return {.dense_until = kNoLimit}; }
  bool is_dense() const { return dense_until == kNoLimit && limit == kNoLimit; }
};

}  // namespace focus
