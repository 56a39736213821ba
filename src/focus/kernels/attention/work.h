// What attention kernels run: which lane attends to which rows of which list of keys. Filled by
// plan/, block of queries by block of queries, so that the query side takes memory O(block).
//
// A lane is one query of one query head of a KV head: lane = (query - first) * heads_per_kv + head.
// A lane's keys are split into parts that do not overlap: its near rows (keys in their own order)
// and, for each group that it reads, a range of that group's list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace focus {

// Rows of the keys in their own order, shared by the heads of a query:
//   [sinks_begin, sinks_end) and [begin, end), disjoint; of the latter, rows in
//   [filter_begin, filter_end) only where Q of the lane and M of the key share a group.
struct NearRows {
  int32_t sinks_begin = 0, sinks_end = 0, begin = 0, end = 0, filter_begin = 0, filter_end = 0;
};

// Rows [begin, end) of a group's list.
struct LaneRows {
  int32_t lane = 0, begin = 0, end = 0;
};

// The lanes that read one group, by (query, head). first_shared: a key may be in several groups and
// some lane reads several; a lane then takes only keys that share no lower group with it.
struct GroupPass {
  int32_t group = 0;
  int32_t first = 0, count = 0;  // in BlockWork::lanes
  bool first_shared = false;
};

// Q and M of one KV head, for the filters above.
struct GroupFilter {
  // Set of lane (query, head): query_sets + query * query_stride + head * head_stride, `words`
  // long; query counts from the block's first. head_stride is 0 where heads share a router.
  const uint64_t* query_sets = nullptr;
  int64_t query_stride = 0, head_stride = 0, words = 0;
  // Groups of key j, ascending: groups[offsets[j]] .. groups[offsets[j + 1] - 1].
  const int32_t* offsets = nullptr;
  const uint16_t* groups = nullptr;
};

struct BlockWork {
  std::vector<NearRows> near;     // one a query of the block
  std::vector<GroupPass> passes;  // ascending by group
  std::vector<LaneRows> lanes;
  GroupFilter filter;
};

// The keys of each group under one KV head, ascending, sinks left out: group g has
// positions[offsets[g]] .. positions[offsets[g + 1] - 1]. Empty without groups.
struct KeyLists {
  std::span<const int32_t> offsets;    // [groups + 1]
  std::span<const int32_t> positions;  // [sum of the sizes]
};

class AttentionWork {
 public:
  virtual ~AttentionWork() = default;
  // Replaces `work` by that of queries [first, first + count) under one KV head. Thread-safe.
  virtual void block(int64_t kv_head, int64_t first, int64_t count, BlockWork& work) const = 0;
  virtual KeyLists lists(int64_t kv_head) const = 0;
};

}  // namespace focus
