// Exact softmax attention over the pairs of a work list, on CPUs: prefill of any chunk, dense and
// grouped from one tile body (docs/kernels.md).
#pragma once

#include <cstdint>

#include "focus/base/parallel.h"
#include "focus/kernels/attention/bf16.h"
#include "focus/kernels/attention/work.h"

namespace focus {

// x[token, head, d] at data + token * token_stride + head * head_stride + d; strides in elements,
// any alignment of T.
template <typename T>
struct HeadRows {
  T* data = nullptr;
  int64_t token_stride = 0, head_stride = 0;
  T* row(int64_t token, int64_t head) const {
    return data + token * token_stride + head * head_stride;
  }
};

struct AttentionShape {
  int64_t queries = 0, keys = 0, query_heads = 1, kv_heads = 1;
  int64_t dim = 64;     // a multiple of 8, 8..256; Error(kUnsupported) otherwise
  double scale = 1;     // of the scores, before the soft-cap
  double soft_cap = 0;  // > 0: cap * tanh(score / cap)
};

// out = softmax(scale q k^T) v and lse[query, head] = natural log of the sum of exp (minus infinity
// and out = 0 where a query has no key). T is float or Bf16; sums are fp32. A lane's bits depend on
// its own query and keys alone: not on its neighbours, the block, threads or how many queries come.
//   lse: [queries, query_heads] or nullptr.
template <typename T>
void attention_forward(const AttentionShape& shape, HeadRows<const T> q, HeadRows<const T> k,
                       HeadRows<const T> v, const AttentionWork& work, HeadRows<T> out, float* lse,
                       const ParallelFor& parallel_for);

}  // namespace focus
