// Byte-pair merges: the lowest rank first, the leftmost among equals, until none applies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace focus {

struct StringViewHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <typename Value>
using StringMap = std::unordered_map<std::string, Value, StringViewHash, std::equal_to<>>;

struct Merge {
  int32_t left, right, merged;  // ids
};

class Bpe {
 public:
  // Words already merged, by their bytes. Holds at most kMostWords of at most kLongestWord bytes;
  // a full cache starts anew. Not to be shared between threads.
  class Cache {
   public:
    static constexpr size_t kMostWords = 1 << 16, kLongestWord = 64;

   private:
    friend class Bpe;
    StringMap<std::vector<int32_t>> words_;
  };

  // byte_ids: the token of each byte, -1 where the vocabulary has none (such bytes yield nothing).
  // merges: in order of rank; the last of equal pairs counts. whole_words: words that are one token
  // without merging (ignore_merges), by their bytes.
  Bpe(const std::array<int32_t, 256>& byte_ids, const std::vector<Merge>& merges,
      StringMap<int32_t> whole_words);

  void encode(std::string_view word, Cache& cache, std::vector<int32_t>& out) const;

 private:
  struct Step {
    int32_t rank, merged;
  };
  // Step of a pair, or nullptr.
  const Step* find(int32_t left, int32_t right) const;
  void merge_short(std::vector<int32_t>& symbols) const;
  void merge_long(std::vector<int32_t>& symbols) const;

  std::array<int32_t, 256> byte_ids_{};
  StringMap<int32_t> whole_words_;
  // Open addressing: as fast as the merge loop needs.
  std::vector<uint64_t> keys_;
  std::vector<Step> steps_;
  size_t mask_ = 0;
};

}  // namespace focus
