#include "focus/ops/attention.h"

#include <ATen/ATen.h>

#include <atomic>

#include "focus/kernels/attention/attend_row.h"
#include "focus/kernels/attention/attention.h"
#include "focus/ops/threads.h"
#include "focus/plan/block_plan.h"

namespace focus {
namespace {

struct Counters {
  PairCount* count;
  std::vector<int32_t>* kept_per_row;
  std::atomic<int64_t> kept{0};

  Counters(PairCount* total, std::vector<int32_t>* rows, const Plan& plan)
      : count(total), kept_per_row(rows) {
    if (rows != nullptr) rows->assign(plan.shape().queries * plan.shape().query_heads, 0);
  }
  void add(const PairCount& pairs) { kept += pairs.kept; }
  void add(const Plan& plan, int64_t head, int64_t query, int64_t keys) {
    kept += keys;
    if (kept_per_row != nullptr)
      (*kept_per_row)[query * plan.shape().query_heads + head] = static_cast<int32_t>(keys);
  }
  void finish(const Plan& plan) {
    if (count == nullptr) return;
    count->kept += kept;
    for (int64_t q = 0; q < plan.shape().queries; ++q)
      count->causal += plan.causal_keys(q) * plan.shape().query_heads;
  }
};

template <typename T>
at::Tensor by_rows(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Plan& plan,
                   double scale, Counters& counters) {
  const int64_t heads = q.size(1), dim = q.size(2), kv_heads = k.size(1);
  const auto query = q.to(at::kFloat).contiguous();
  const auto out = at::empty({q.size(0), heads * dim}, query.options());
  const T* keys = static_cast<const T*>(k.const_data_ptr());
  const T* values = static_cast<const T*>(v.const_data_ptr());
  torch_parallel()(q.size(0) * heads, [&](int64_t first, int64_t last) {
    std::vector<int32_t> kept;
    std::vector<float> scratch(plan.keys() + 64);
    for (int64_t n = first; n < last; ++n) {
      const int64_t head = n % heads, kv = plan.kv_head(head);
      plan.kept_keys(head, n / heads, kept);
      counters.add(plan, head, n / heads, static_cast<int64_t>(kept.size()));
      attend_row<T>(query.const_data_ptr<float>() + n * dim, dim, static_cast<float>(scale),
                    keys + kv * dim, values + kv * dim, kv_heads * dim, kept.data(),
                    static_cast<int64_t>(kept.size()), scratch.data(),
                    out.data_ptr<float>() + n * dim);
    }
  });
  return out.to(q.scalar_type());
}

// The last dimension filled up with zeros to a multiple of 8: scores and values keep their bits.
at::Tensor padded(const at::Tensor& x) {
  const int64_t missing = (8 - x.size(-1) % 8) % 8;
  return missing == 0 ? x.contiguous() : at::constant_pad_nd(x, {0, missing});
}

template <typename T>
HeadRows<const T> rows_of(const at::Tensor& x) {  // [tokens, heads, dim], contiguous
  return {static_cast<const T*>(x.const_data_ptr()), x.stride(0), x.stride(1)};
}

template <typename T>
at::Tensor by_tiles(const at::Tensor& q_in, const at::Tensor& k_in, const at::Tensor& v_in,
                    const Plan& plan, double scale, Evaluation evaluation, Counters& counters) {
  const ParallelFor parallel_for = torch_parallel();
  const auto q = padded(q_in), k = padded(k_in), v = padded(v_in);
  const auto out = at::empty_like(q);
  const BlockPlan work(plan, evaluation, &parallel_for);
  counters.add(work.count(counters.kept_per_row, &parallel_for));
  attention_forward<T>({.queries = q.size(0),
                        .keys = k.size(0),
                        .query_heads = q.size(1),
                        .kv_heads = k.size(1),
                        .dim = q.size(2),
                        .scale = scale},
                       rows_of<T>(q), rows_of<T>(k), rows_of<T>(v), work,
                       {static_cast<T*>(out.data_ptr()), out.stride(0), out.stride(1)}, nullptr,
                       parallel_for);
  return out.narrow(2, 0, q_in.size(2)).reshape({q.size(0), q.size(1) * q_in.size(2)});
}

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const Plan& plan, double scale, AttentionRunner runner, PairCount* count,
                     std::vector<int32_t>* kept_per_row) {
  Counters counters(count, kept_per_row, plan);
  const bool full = q.scalar_type() == at::kFloat;
  at::Tensor out;
  if (runner == AttentionRunner::kAuto && q.size(0) == 1) {
    out = full ? by_rows<float>(q, k, v, plan, scale, counters)
               : by_rows<Bf16>(q, k, v, plan, scale, counters);
  } else {
    const Evaluation evaluation =
        runner == AttentionRunner::kInvariant ? Evaluation::kGroups : Evaluation::kAuto;
    out = full ? by_tiles<float>(q, k, v, plan, scale, evaluation, counters)
               : by_tiles<Bf16>(q, k, v, plan, scale, evaluation, counters);
  }
  counters.finish(plan);
  return out;
}

}  // namespace focus
