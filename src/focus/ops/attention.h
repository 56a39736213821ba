// Attention under a plan, on tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include "focus/plan/plan.h"

namespace focus {

// How a plan is evaluated; never which pairs it keeps.
enum class AttentionRunner {
  kAuto,       // one query: row by row; else the block plan's own choice
  kInvariant,  // a query's bits do not depend on how many queries come at once
};

// softmax(scale q k^T) v over the pairs of the plan.
//   q: [queries, query_heads, dim]; k, v: [keys, kv_heads, dim], contiguous, fp32 or bf16 like q.
//   Returns the same type, [queries, query_heads * dim].
// Pairs kept are counted into *count, and the number of keys of each (query, head) row into
// *kept_per_row
// ([queries * query_heads], query-major), where given.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const Plan& plan, double scale, AttentionRunner runner,
                     PairCount* count = nullptr, std::vector<int32_t>* kept_per_row = nullptr);

}  // namespace focus
