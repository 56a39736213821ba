// Keys and values of one KV head as the tile body reads them: fp32 rows in their own order, and
// gathered group by group.
#pragma once

#include <memory>

#include "focus/kernels/attention/attention.h"

namespace focus {

struct KeyRows {
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t k_stride = 0, v_stride = 0;  // floats
};

// One block of queries under one KV head.
struct BlockRange {
  int64_t kv_head = 0, first = 0, count = 0;
};

// The arguments of attention_forward, prepared.
template <typename T>
struct AttentionCall {
  const AttentionShape& shape;
  HeadRows<const T> q;
  const AttentionWork& work;
  HeadRows<T> out;
  float* lse;
  float factor;  // scale * log2(e)
  float cap2;    // soft-cap * log2(e), 0: none
};

constexpr int64_t kMaxKeys = (int64_t{1} << 31) - 1;
constexpr int64_t kPageBudget = int64_t{1} << 28;  // bytes of gathered keys at once

class KeyPages {
 public:
  KeyPages(const AttentionShape& shape, const KeyLists& lists, int64_t head)
      : kv_head(head), keys(shape.keys), dim_(shape.dim), lists_(lists) {}

  bool grouped() const { return !lists_.positions.empty(); }
  // Memory of the copies, where the keys in their own order are copied too or not.
  int64_t bytes(bool copies_near) const {
    return 2 * dim_ * static_cast<int64_t>(sizeof(float)) *
           (static_cast<int64_t>(lists_.positions.size()) + (copies_near ? keys : 0));
  }
  KeyRows group(int32_t group, int64_t dim) const {
    const int64_t first = lists_.offsets[group] * dim;
    return {k_.get() + first, v_.get() + first, dim, dim};
  }
  const int32_t* positions(int32_t group) const {
    return lists_.positions.data() + lists_.offsets[group];
  }

  int64_t kv_head, keys;
  KeyRows near;        // by position
  bool finite = true;  // every value is

 private:
  template <typename T>
  friend void fill_pages(const AttentionShape&, HeadRows<const T>, HeadRows<const T>,
                         std::vector<KeyPages>&, const ParallelFor&);

  int64_t dim_;
  KeyLists lists_;
  std::unique_ptr<float[]> k_, v_;  // [positions][dim]
  std::unique_ptr<float[]> near_k_,
      near_v_;  // [keys][dim], where the tensors cannot be read as they are
};

// Gathers, and looks for values that are not finite.
template <typename T>
void fill_pages(const AttentionShape& shape, HeadRows<const T> k, HeadRows<const T> v,
                std::vector<KeyPages>& pages, const ParallelFor& parallel_for);

}  // namespace focus
