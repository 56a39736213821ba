#include "focus/plan/plan.h"

#include <algorithm>
#include <string>

#include "focus/base/error.h"

namespace focus {
namespace {

void check_heads(const char* what, const GroupSets& sets, int64_t heads, int64_t tokens) {
  if ((sets.heads() != 1 && sets.heads() != heads) || sets.tokens() < tokens) {
    throw Error(
        ErrorKind::kUsage, std::string("plan: ") + what,
        "1 or " + std::to_string(heads) + " routing heads and " + std::to_string(tokens) +
            " tokens",
        std::to_string(sets.heads()) + " heads and " + std::to_string(sets.tokens()) + " tokens");
  }
}

}  // namespace

Plan::Plan(const Rule& rule, const Shape& shape, const GroupSets* query_sets,
           const GroupSets* key_sets)
    : rule_(rule), shape_(shape), query_sets_(query_sets), key_sets_(key_sets) {
  if (shape.first < 0 || shape.queries < 0 || shape.kv_heads < 1 ||
      shape.query_heads < shape.kv_heads || shape.query_heads % shape.kv_heads != 0) {
    throw Error(
        ErrorKind::kUsage, "plan", "query heads a multiple of KV heads, lengths >= 0",
        std::to_string(shape.query_heads) + " and " + std::to_string(shape.kv_heads) + " heads");
  }
  if (!shape.document_start.empty() && static_cast<int64_t>(shape.document_start.size()) < keys()) {
    throw Error(ErrorKind::kUsage, "plan: document starts", std::to_string(keys()) + " positions",
                std::to_string(shape.document_start.size()));
  }
  if ((query_sets == nullptr) != (key_sets == nullptr)) {
    throw Error(ErrorKind::kUsage, "plan", "group sets of queries and of keys", "only one of them");
  }
  if (query_sets != nullptr) {
    check_heads("query sets", *query_sets, shape.query_heads, shape.queries);
    check_heads("key sets", *key_sets, shape.kv_heads, keys());
    if (query_sets->groups() != key_sets->groups()) {
      throw Error(ErrorKind::kUsage, "plan",
                  std::to_string(key_sets->groups()) + " groups in the query sets",
                  std::to_string(query_sets->groups()));
    }
  }
}

void Plan::mark_groups(int64_t query_head, int64_t query, int64_t begin, int64_t end,
                       std::span<uint8_t> kept) const {
  const int64_t words = key_sets_->words();
  const int64_t query_router = query_sets_->heads() == 1 ? 0 : query_head;
  const int64_t key_router = key_sets_->heads() == 1 ? 0 : kv_head(query_head);
  const int64_t stride = key_sets_->heads() * words;
  const uint64_t* read = query_sets_->set(query, query_router).data();
  const uint64_t* member = key_sets_->set(begin, key_router).data();
  if (words == 1) {
    for (int64_t j = begin; j < end; ++j, member += stride) kept[j] = (*member & *read) != 0;
    return;
  }
  for (int64_t j = begin; j < end; ++j, member += stride) {
    uint64_t shared = 0;
    for (int64_t w = 0; w < words; ++w) shared |= member[w] & read[w];
    kept[j] = shared != 0;
  }
}

int64_t Plan::row(int64_t query_head, int64_t query, std::span<uint8_t> kept) const {
  const Bounds at = bounds(query);
  std::fill(kept.begin(), kept.begin() + keys(), uint8_t{0});
  std::fill(kept.begin() + at.lowest, kept.begin() + at.sinks_end, uint8_t{1});
  std::fill(kept.begin() + at.near, kept.begin() + at.end, uint8_t{1});
  int64_t count = at.sinks_end - at.lowest + at.end - at.near;
  if (query_sets_ != nullptr && at.near > at.sinks_end) {
    mark_groups(query_head, query, at.sinks_end, at.near, kept);
    for (int64_t j = at.sinks_end; j < at.near; ++j) count += kept[j];
  }
  return count;
}

void Plan::kept_keys(int64_t query_head, int64_t query, std::vector<int32_t>& keys_out) const {
  std::vector<uint8_t> kept(keys());
  keys_out.clear();
  keys_out.reserve(row(query_head, query, kept));
  for (int64_t j = 0; j < keys(); ++j) {
    if (kept[j] != 0) keys_out.push_back(static_cast<int32_t>(j));
  }
}

PairCount Plan::count() const {
  PairCount total;
  std::vector<uint8_t> kept(query_sets_ != nullptr ? keys() : 0);
  for (int64_t q = 0; q < shape_.queries; ++q) {
    total.causal += causal_keys(q) * shape_.query_heads;
    if (query_sets_ == nullptr) {
      const Bounds at = bounds(q);
      total.kept += (at.sinks_end - at.lowest + at.end - at.near) * shape_.query_heads;
      continue;
    }
    for (int64_t h = 0; h < shape_.query_heads; ++h) total.kept += row(h, q, kept);
  }
  return total;
}

double near_share(const Rule& rule, int64_t tokens) {
  return Plan(rule, {.first = 0, .queries = tokens, .query_heads = 1, .kv_heads = 1}, nullptr,
              nullptr)
      .count()
      .share();
}

}  // namespace focus
