#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "focus/base/error.h"
#include "focus/kernels/routing/score_rows.h"

namespace focus {
namespace {

void check_not_nan(const float* scores, int64_t groups) {
  for (int64_t g = 0; g < groups; ++g) {
    if (std::isnan(scores[g])) {
      throw Error(ErrorKind::kNumeric, "routing scores", "numbers",
                  "NaN in group " + std::to_string(g),
                  "the model's activations are not finite: try --dtype f32");
    }
  }
}

void mark(int64_t group, uint64_t* set) { set[group / 64] |= uint64_t{1} << (group % 64); }

}  // namespace

void rank_groups(const float* scores, int64_t groups, int32_t* order) {
  check_not_nan(scores, groups);
  std::iota(order, order + groups, 0);
  std::sort(order, order + groups, [&](int32_t a, int32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
}

void select_top(const float* scores, int64_t groups, int64_t read, uint64_t* set) {
  check_not_nan(scores, groups);
  if (read <= 0) return;
  if (read >= groups) {
    for (int64_t g = 0; g < groups; ++g) mark(g, set);
    return;
  }
  if (read == 1) {
    mark(std::max_element(scores, scores + groups) - scores, set);
    return;
  }
  std::vector<float> copy(scores, scores + groups);
  std::nth_element(copy.begin(), copy.begin() + (read - 1), copy.end(), std::greater<>());
  const float last = copy[read - 1];
  int64_t left = read;
  for (int64_t g = 0; g < groups; ++g) {
    if (scores[g] > last) {
      mark(g, set);
      --left;
    }
  }
  for (int64_t g = 0; g < groups && left > 0; ++g) {
    if (scores[g] == last) {
      mark(g, set);
      --left;
    }
  }
}

void select_positive(const float* scores, int64_t groups, uint64_t* set) {
  check_not_nan(scores, groups);
  for (int64_t g = 0; g < groups; ++g) {
    if (scores[g] > 0) mark(g, set);
  }
}

void select_mass(const float* scores, int64_t groups, double mass, uint64_t* set) {
  std::vector<int32_t> order(groups);
  rank_groups(scores, groups, order.data());
  const double top = scores[order[0]];
  double total = 0;
  for (int64_t g = 0; g < groups; ++g) total += std::exp(scores[g] - top);
  double reached = 0;
  for (int32_t g : order) {
    mark(g, set);
    reached += std::exp(scores[g] - top);
    if (reached >= mass * total) return;
  }
}

}  // namespace focus
