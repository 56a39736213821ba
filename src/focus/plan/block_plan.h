// A plan as block work for the attention kernels: every kept pair exactly once, whatever the
// memberships.
#pragma once

#include <cstdint>
#include <vector>

#include "focus/base/parallel.h"
#include "focus/kernels/attention/work.h"
#include "focus/plan/plan.h"

namespace focus {

// How a query reaches its far keys: by the list of each group that it reads, or by a sweep over all
// keys in their own order with a filter. The pairs are the same. kAuto takes the sweep while a
// query has few far keys: decided by position alone, so that no later token can change it.
enum class Evaluation { kAuto, kGroups, kSweep };

class BlockPlan : public AttentionWork {
 public:
  // What one entry of a group pass costs beside its rows, in rows (kAuto).
  static constexpr double kEntryRows = 12;

  // Takes time and memory O(keys + memberships) a routing head of the keys. `plan`, its sets and
  // its document starts must outlive this and not change. Error(kUnsupported) beyond 2^31 - 1 keys
  // or memberships.
  explicit BlockPlan(const Plan& plan, Evaluation evaluation = Evaluation::kAuto,
                     const ParallelFor* parallel_for = nullptr);

  // Error(kUnsupported) beyond 2^31 - 1 entries: take smaller blocks.
  void block(int64_t kv_head, int64_t first, int64_t count, BlockWork& work) const override;
  KeyLists lists(int64_t kv_head) const override;

  // Plan::count() in time O(entries); rows that read several groups of overlapping memberships cost
  // O(keys) each. kept_per_row, if given: the kept pairs of each [queries, query_heads].
  PairCount count(std::vector<int32_t>* kept_per_row = nullptr,
                  const ParallelFor* parallel_for = nullptr) const;

 private:
  struct KeyRouter {
    std::vector<int32_t> offsets, positions;  // KeyLists
    bool overlapping = false;                 // a key of the lists is in several groups
    std::vector<int32_t> key_offsets;         // GroupFilter; empty where nothing is filtered
    std::vector<uint16_t> key_groups;
  };

  int64_t heads_per_kv() const { return plan_.shape().query_heads / plan_.shape().kv_heads; }
  int64_t key_router(int64_t kv_head) const { return routers_.size() == 1 ? 0 : kv_head; }
  // The most far keys of a query that is swept under kAuto.
  int64_t auto_sweep_far(int64_t kv_head) const;
  // Some query of the KV head is swept with far keys to filter.
  bool sweeps(int64_t kv_head) const;
  void build_lists(int64_t router);
  // Near rows of the block; where there are groups, lists' rows of the queries with more than
  // sweep_far far keys.
  void fill(int64_t kv_head, int64_t first, int64_t count, int64_t sweep_far,
            BlockWork& work) const;

  const Plan& plan_;
  std::vector<KeyRouter> routers_;  // 1 or kv_heads; none without group sets
  std::vector<int64_t> sweep_far_;  // [kv_heads]; -1: no query is swept
};

}  // namespace focus
