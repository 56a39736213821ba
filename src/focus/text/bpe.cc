#include "focus/text/bpe.h"

#include <queue>

namespace focus {
namespace {

constexpr uint64_t kNoPair = ~uint64_t{0};  // ids are not negative: no pair has this key
constexpr int32_t kGone = -1;
constexpr size_t kShort = 24;  // symbols up to which scanning beats a heap

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t slot_of(uint64_t key) {
  // Multiplicative hashing; the high bits are the mixed ones.
  return static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> 24);
}

}  // namespace

Bpe::Bpe(const std::array<int32_t, 256>& byte_ids, const std::vector<Merge>& merges,
         StringMap<int32_t> whole_words)
    : byte_ids_(byte_ids), whole_words_(std::move(whole_words)) {
  size_t size = 16;
  while (size < 2 * merges.size()) size *= 2;
  keys_.assign(size, kNoPair);
  steps_.assign(size, Step{0, 0});
  mask_ = size - 1;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const uint64_t key = pair_key(merge.left, merge.right);
    size_t slot = slot_of(key) & mask_;
    while (keys_[slot] != kNoPair && keys_[slot] != key) slot = (slot + 1) & mask_;
    keys_[slot] = key;
    steps_[slot] = {static_cast<int32_t>(rank), merge.merged};
  }
}

const Bpe::Step* Bpe::find(int32_t left, int32_t right) const {
  const uint64_t key = pair_key(left, right);
  size_t slot = slot_of(key) & mask_;
  while (keys_[slot] != key) {
    if (keys_[slot] == kNoPair) return nullptr;
    slot = (slot + 1) & mask_;
  }
  return &steps_[slot];
}

void Bpe::merge_short(std::vector<int32_t>& symbols) const {
  while (symbols.size() > 1) {
    const Step* best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const Step* step = find(symbols[i], symbols[i + 1]);
      if (step != nullptr && (best == nullptr || step->rank < best->rank)) {
        best = step;
        at = i;
      }
    }
    if (best == nullptr) return;
    symbols[at] = best->merged;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

void Bpe::merge_long(std::vector<int32_t>& symbols) const {
  struct Candidate {
    int32_t rank, merged;
    size_t at;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  const size_t n = symbols.size();
  std::vector<size_t> next(n), previous(n);
  std::vector<Candidate> start;
  for (size_t i = 0; i < n; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    if (i + 1 == n) break;
    if (const Step* step = find(symbols[i], symbols[i + 1])) {
      start.push_back({step->rank, step->merged, i});
    }
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(start));
  const auto push = [&](size_t at) {
    if (const Step* step = find(symbols[at], symbols[next[at]])) {
      queue.push({step->rank, step->merged, at});
    }
  };
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    if (symbols[top.at] == kGone || next[top.at] == n) continue;
    // The pair may have changed since it was queued.
    const Step* step = find(symbols[top.at], symbols[next[top.at]]);
    if (step == nullptr || step->rank != top.rank) continue;
    const size_t right = next[top.at];
    symbols[top.at] = top.merged;
    symbols[right] = kGone;
    next[top.at] = next[right];
    if (next[right] != n) previous[next[right]] = top.at;
    if (top.at != 0) push(previous[top.at]);
    if (next[top.at] != n) push(top.at);
  }
  std::erase(symbols, kGone);
}

void Bpe::encode(std::string_view word, Cache& cache, std::vector<int32_t>& out) const {
  if (!whole_words_.empty()) {
    if (const auto whole = whole_words_.find(word); whole != whole_words_.end()) {
      out.push_back(whole->second);
      return;
    }
  }
  const bool cached = word.size() <= Cache::kLongestWord;
  if (cached) {
    if (const auto known = cache.words_.find(word); known != cache.words_.end()) {
      out.insert(out.end(), known->second.begin(), known->second.end());
      return;
    }
  }
  std::vector<int32_t> symbols;
  symbols.reserve(word.size());
  for (const char byte : word) {
    if (const int32_t id = byte_ids_[static_cast<uint8_t>(byte)]; id >= 0) symbols.push_back(id);
  }
  if (symbols.size() <= kShort) {
    merge_short(symbols);
  } else {
    merge_long(symbols);
  }
  out.insert(out.end(), symbols.begin(), symbols.end());
  if (cached) {
    if (cache.words_.size() == Cache::kMostWords) cache.words_.clear();
    cache.words_.emplace(word, std::move(symbols));
  }
}

}  // namespace focus
