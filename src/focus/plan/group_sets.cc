#include "focus/plan/group_sets.h"

#include <string>

#include "focus/base/error.h"

namespace focus {

GroupSets::GroupSets(int64_t groups, int64_t heads) : groups_(groups), heads_(heads) {
  if (groups < 1 || groups > 4096 || heads < 1) {
    throw Error(ErrorKind::kUsage, "group sets", "1 to 4096 groups and at least one head",
                std::to_string(groups) + " groups, " + std::to_string(heads) + " heads");
  }
  words_ = (groups + 63) / 64;
}

int64_t GroupSets::grow(int64_t count) {
  const int64_t first = tokens_;
  tokens_ += count;
  bits_.resize(tokens_ * heads_ * words_, 0);
  return first;
}

void GroupSets::truncate(int64_t tokens) {
  if (tokens >= tokens_) return;
  tokens_ = tokens;
  bits_.resize(tokens_ * heads_ * words_);
}

void GroupSets::append(const GroupSets& other) {
  if (other.groups_ != groups_ || other.heads_ != heads_) {
    throw Error(ErrorKind::kUsage, "group sets",
                std::to_string(groups_) + " groups and " + std::to_string(heads_) + " heads",
                std::to_string(other.groups_) + " and " + std::to_string(other.heads_));
  }
  bits_.insert(bits_.end(), other.bits_.begin(), other.bits_.end());
  tokens_ += other.tokens_;
}

std::vector<int64_t> GroupSets::group_sizes(int64_t head) const {
  std::vector<int64_t> sizes(groups_, 0);
  for (int64_t t = 0; t < tokens_; ++t) {
    const auto words = set(t, head);
    for (int64_t w = 0; w < words_; ++w) {
      for (uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
        ++sizes[w * 64 + __builtin_ctzll(rest)];
      }
    }
  }
  return sizes;
}

double effective_groups(std::span<const int64_t> group_sizes) {
  double sum = 0, squares = 0;
  for (int64_t size : group_sizes) {
    sum += static_cast<double>(size);
    squares += static_cast<double>(size) * static_cast<double>(size);
  }
  return squares > 0 ? sum * sum / squares : 0;
}

}  // namespace focus
