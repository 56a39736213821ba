#include "focus/ops/attention.h"

#include <ATen/ATen.h>

#include <atomic>
#include <limits>

#include "focus/kernels/attention/attend_row.h"
#include "focus/ops/threads.h"

namespace focus {
namespace {

constexpr int64_t kMaskBytes = int64_t{64} << 20;  // of the additive mask that SDPA reads at once

// [tokens, heads, dim] -> [kv_heads, heads / kv_heads, tokens, dim], no copy.
at::Tensor by_kv_head(const at::Tensor& x, int64_t kv_heads, int64_t heads_per_kv) {
  auto view = x.view({x.size(0), kv_heads, x.size(1) / kv_heads, x.size(2)}).permute({1, 2, 0, 3});
  return view.expand({kv_heads, heads_per_kv, x.size(0), x.size(2)});
}

at::Tensor sdpa(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                const at::Tensor& mask, bool causal, double scale) {
  const int64_t kv_heads = k.size(1), per_kv = q.size(1) / kv_heads;
  const auto out = at::scaled_dot_product_attention(
      by_kv_head(q, kv_heads, per_kv), by_kv_head(k, kv_heads, per_kv),
      by_kv_head(v, kv_heads, per_kv),
      mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt, 0.0, causal, scale);
  return out.permute({2, 0, 1, 3}).reshape({q.size(0), q.size(1) * q.size(2)});
}

struct Counters {
  PairCount* count;
  std::vector<int32_t>* kept_per_row;
  std::atomic<int64_t> kept{0};

  Counters(PairCount* total, std::vector<int32_t>* rows, const Plan& plan)
      : count(total), kept_per_row(rows) {
    if (rows != nullptr) rows->assign(plan.shape().queries * plan.shape().query_heads, 0);
  }
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

// The additive mask of queries [begin, end): 0 where kept, -infinity elsewhere. T is the bits of
// fp32 or bf16.
template <typename T>
void fill_mask(const Plan& plan, int64_t begin, int64_t end, T minus_infinity, T* mask,
               Counters& counters) {
  const int64_t heads = plan.shape().query_heads, keys = plan.keys(), rows = end - begin;
  torch_parallel()(heads * rows, [&](int64_t first, int64_t last) {
    std::vector<uint8_t> kept(keys);
    for (int64_t n = first; n < last; ++n) {
      const int64_t head = n / rows, query = begin + n % rows;
      counters.add(plan, head, query, plan.row(head, query, kept));
      T* row = mask + n * keys;
      for (int64_t j = 0; j < keys; ++j) row[j] = kept[j] != 0 ? T{0} : minus_infinity;
    }
  });
}

at::Tensor masked(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Plan& plan,
                  double scale, Counters& counters) {
  const int64_t heads = plan.shape().query_heads, keys = plan.keys(),
                kv_heads = plan.shape().kv_heads;
  const int64_t row_bytes = heads * keys * static_cast<int64_t>(q.element_size());
  const int64_t block = std::max<int64_t>(1, kMaskBytes / std::max<int64_t>(1, row_bytes));
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < q.size(0); begin += block) {
    const int64_t end = std::min(q.size(0), begin + block);
    const auto mask = at::empty({kv_heads, heads / kv_heads, end - begin, keys}, q.options());
    if (q.scalar_type() == at::kFloat) {
      fill_mask<uint32_t>(plan, begin, end, 0xFF800000u, static_cast<uint32_t*>(mask.data_ptr()),
                          counters);
    } else {
      fill_mask<uint16_t>(plan, begin, end, 0xFF80u, static_cast<uint16_t*>(mask.data_ptr()),
                          counters);
    }
    parts.push_back(sdpa(q.slice(0, begin, end), k, v, mask, false, scale));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

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

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const Plan& plan, double scale, AttentionRunner runner, PairCount* count,
                     std::vector<int32_t>* kept_per_row) {
  Counters counters(count, kept_per_row, plan);
  at::Tensor out;
  if (runner == AttentionRunner::kRows || q.size(0) == 1) {
    out = q.scalar_type() == at::kFloat ? by_rows<float>(q, k, v, plan, scale, counters)
                                        : by_rows<Bf16>(q, k, v, plan, scale, counters);
  } else if (plan.rule().is_dense() && plan.shape().document_start.empty() &&
             plan.shape().first == 0) {
    for (int64_t query = 0; query < q.size(0); ++query) {
      for (int64_t h = 0; h < q.size(1); ++h) counters.add(plan, h, query, plan.causal_keys(query));
    }
    out = sdpa(q, k, v, {}, true, scale);
  } else {
    out = masked(q, k, v, plan, scale, counters);
  }
  counters.finish(plan);
  return out;
}

}  // namespace focus
