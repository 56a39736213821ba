#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace focus {

// The groups of each token under each routing head, as bit sets: Q(i) of queries or M(j) of keys.
class GroupSets {
 public:
  GroupSets() = default;
  // groups in 1..4096, heads >= 1; Error(kUsage) otherwise.
  GroupSets(int64_t groups, int64_t heads);

  int64_t groups() const { return groups_; }
  int64_t heads() const { return heads_; }
  int64_t words() const { return words_; }  // 64-bit words a set: ceil(groups / 64)
  int64_t tokens() const { return tokens_; }
  bool empty() const { return groups_ == 0; }

  // Appends `count` tokens with empty sets and returns the index of the first.
  int64_t grow(int64_t count);
  // Forgets every token at or after `tokens`.
  void truncate(int64_t tokens);
  // Appends the tokens of another object of the same shape; Error(kUsage) otherwise.
  void append(const GroupSets& other);

  std::span<uint64_t> set(int64_t token, int64_t head) {
    return {&bits_[(token * heads_ + head) * words_], static_cast<size_t>(words_)};
  }
  std::span<const uint64_t> set(int64_t token, int64_t head) const {
    return {&bits_[(token * heads_ + head) * words_], static_cast<size_t>(words_)};
  }
  void add(int64_t token, int64_t head, int64_t group) {
    set(token, head)[group / 64] |= uint64_t{1} << (group % 64);
  }
  bool contains(int64_t token, int64_t head, int64_t group) const {
    return (set(token, head)[group / 64] >> (group % 64) & 1) != 0;
  }
  // Tokens per group under one head.
  std::vector<int64_t> group_sizes(int64_t head) const;
  friend bool operator==(const GroupSets&, const GroupSets&) = default;

 private:
  int64_t groups_ = 0, heads_ = 0, words_ = 0, tokens_ = 0;
  std::vector<uint64_t> bits_;  // [tokens, heads, words]
};

// 1 / sum p_g^2 of the shares p_g of hard memberships (routing.md, "effective groups"); 0 without
// any member.
double effective_groups(std::span<const int64_t> group_sizes);

}  // namespace focus
