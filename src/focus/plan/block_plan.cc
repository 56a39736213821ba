#include "focus/plan/block_plan.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "focus/base/error.h"

namespace focus {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kNoSweep = -1;
constexpr int64_t kCountBlock = 512;  // queries of a block of BlockPlan::count
// Moving a cursor by this many keys costs about as much as one binary search.
constexpr int64_t kKeysPerSearch = 16;

void check_fits_int32(const char* what, int64_t found) {
  if (found > kMost) {
    throw Error(ErrorKind::kUnsupported, std::string("block plan: ") + what,
                "at most " + std::to_string(kMost), std::to_string(found),
                "take fewer tokens or groups at a time");
  }
}

// Writes the groups of a set, ascending, and returns their end. Looks for kBatch of a word at a
// time without a branch, so it may write kBatch - 1 values behind the end.
template <int kBatch>
inline uint16_t* list_groups(const uint64_t* set, int64_t words, uint16_t* out) {
  for (int64_t w = 0; w < words; ++w) {
    uint64_t rest = set[w];
    do {
      for (int n = 0; n < kBatch; ++n) {
        const int bit = __builtin_ctzll(rest | uint64_t{1} << 63);  // defined for 0 too
        *out = static_cast<uint16_t>(w * 64 + bit);
        out += rest != 0;
        rest &= rest - 1;
      }
    } while (rest != 0);
  }
  return out;
}
constexpr int64_t kListPad = 8;  // at least kBatch

// Makes room for one more set behind `used` values.
void reserve_set(std::vector<uint16_t>& list, int64_t used, int64_t groups) {
  const size_t needed = used + groups + kListPad;
  if (list.size() < needed) list.resize(std::max(needed, 2 * list.size()));
}

bool has_several(std::span<const uint64_t> set) {
  int groups = 0;
  for (const uint64_t word : set) groups += __builtin_popcountll(word);
  return groups > 1;
}

// A group while its pass is filled: the rows that a query reads now, the next free lane (before
// that, how many lanes read it).
struct Cursor {
  int32_t begin = 0, end = 0, next = 0;
  bool first_shared = false;
};

struct Scratch {
  std::vector<Cursor> cursors;   // [groups]
  std::vector<uint16_t> groups;  // read by each lane, lane by lane
  std::vector<int32_t> ends;     // [lanes], in `groups`
};

void run(const ParallelFor* parallel_for, int64_t n,
         const std::function<void(int64_t, int64_t)>& body) {
  if (parallel_for != nullptr) {
    (*parallel_for)(n, body);
  } else {
    body(0, n);
  }
}

}  // namespace

BlockPlan::BlockPlan(const Plan& plan, Evaluation evaluation, const ParallelFor* parallel_for)
    : plan_(plan) {
  check_fits_int32("keys", plan.keys());
  const int64_t kv_heads = plan.shape().kv_heads;
  sweep_far_.assign(kv_heads, kNoSweep);
  if (plan.query_sets() == nullptr) return;
  for (int64_t head = 0; head < kv_heads; ++head) {
    if (evaluation == Evaluation::kAuto) sweep_far_[head] = auto_sweep_far(head);
    if (evaluation == Evaluation::kSweep) sweep_far_[head] = kMost;
  }
  routers_.resize(plan.key_sets()->heads());
  std::vector<uint8_t> filtered(routers_.size(), 0);
  for (int64_t head = 0; head < kv_heads; ++head) filtered[key_router(head)] |= sweeps(head);
  run(parallel_for, static_cast<int64_t>(routers_.size()), [&](int64_t begin, int64_t end) {
    for (int64_t router = begin; router < end; ++router) {
      build_lists(router);
      if (filtered[router] == 0 && !routers_[router].overlapping) {
        routers_[router].key_offsets = {};
        routers_[router].key_groups = {};
      }
    }
  });
}

int64_t BlockPlan::auto_sweep_far(int64_t kv_head) const {
  const GroupSets& sets = *plan_.query_sets();
  if (plan_.shape().queries == 0) return 0;
  const int64_t heads = heads_per_kv();
  int64_t reads = 0;
  for (int64_t head = kv_head * heads; head < (kv_head + 1) * heads; ++head) {
    for (const uint64_t word : sets.set(0, sets.heads() == 1 ? 0 : head)) {
      reads += __builtin_popcountll(word);
    }
  }
  const double r = static_cast<double>(reads) / static_cast<double>(heads);
  // Share of the far keys that a query is expected to keep.
  const double rho = std::min(1.0, 1.3 * r / static_cast<double>(sets.groups()));
  return rho >= 0.8 ? kMost : static_cast<int64_t>(kEntryRows * r / (1 - rho));
}

bool BlockPlan::sweeps(int64_t kv_head) const {
  const int64_t sweep_far = sweep_far_[kv_head];
  if (sweep_far <= 0) return false;
  for (int64_t query = 0; query < plan_.shape().queries; ++query) {
    const Plan::Bounds at = plan_.bounds(query);
    const int64_t far = at.near - at.sinks_end;
    if (far > 0 && far <= sweep_far) return true;
  }
  return false;
}

void BlockPlan::build_lists(int64_t router) {
  const GroupSets& sets = *plan_.key_sets();
  const int64_t keys = plan_.keys(), groups = sets.groups(), words = sets.words();
  KeyRouter& to = routers_[router];
  to.offsets.assign(groups + 1, 0);
  to.key_offsets.assign(keys + 1, 0);
  to.key_groups.resize(keys + groups + kListPad);
  std::vector<int32_t> next(groups, 0);
  int64_t used = 0;
  for (int64_t key = 0; key < keys; ++key) {
    reserve_set(to.key_groups, used, groups);
    uint16_t* const begin = to.key_groups.data() + used;
    uint16_t* const end = list_groups<1>(sets.set(key, router).data(), words, begin);
    used += end - begin;
    check_fits_int32("memberships", used);
    to.key_offsets[key + 1] = static_cast<int32_t>(used);
    if (plan_.is_sink(key)) continue;
    for (const uint16_t* group = begin; group < end; ++group) ++next[*group];
    to.overlapping |= end - begin > 1;
  }
  to.key_groups.resize(used);
  for (int64_t group = 0; group < groups; ++group) {
    to.offsets[group + 1] = to.offsets[group] + next[group];
    next[group] = to.offsets[group];
  }
  to.positions.resize(to.offsets[groups]);
  for (int64_t key = 0; key < keys; ++key) {
    if (plan_.is_sink(key)) continue;
    for (int32_t n = to.key_offsets[key]; n < to.key_offsets[key + 1]; ++n) {
      to.positions[next[to.key_groups[n]]++] = static_cast<int32_t>(key);
    }
  }
}

KeyLists BlockPlan::lists(int64_t kv_head) const {
  if (routers_.empty()) return {};
  const KeyRouter& router = routers_[key_router(kv_head)];
  return {router.offsets, router.positions};
}

void BlockPlan::block(int64_t kv_head, int64_t first, int64_t count, BlockWork& work) const {
  fill(kv_head, first, count, sweep_far_[kv_head], work);
}

void BlockPlan::fill(int64_t kv_head, int64_t first, int64_t count, int64_t sweep_far,
                     BlockWork& work) const {
  work.near.resize(count);
  for (int64_t query = 0; query < count; ++query) {
    const Plan::Bounds at = plan_.bounds(first + query);
    const auto lowest = static_cast<int32_t>(at.lowest), near = static_cast<int32_t>(at.near);
    const auto sinks_end = static_cast<int32_t>(at.sinks_end), end = static_cast<int32_t>(at.end);
    if (near - sinks_end <= sweep_far) {
      work.near[query] = {lowest, lowest, lowest, end, sinks_end, near};
    } else {
      work.near[query] = {lowest, sinks_end, near, end, near, near};
    }
  }
  work.passes.clear();
  work.filter = {};
  if (routers_.empty() || count == 0) {
    work.lanes.clear();
    return;
  }

  const GroupSets& query_sets = *plan_.query_sets();
  const GroupSets& key_sets = *plan_.key_sets();
  const KeyRouter& router = routers_[key_router(kv_head)];
  const int64_t heads = heads_per_kv(), groups = query_sets.groups(), words = query_sets.words();
  work.filter.query_sets =
      query_sets.set(first, query_sets.heads() == 1 ? 0 : kv_head * heads).data();
  work.filter.query_stride = query_sets.heads() * words;
  work.filter.head_stride = query_sets.heads() == 1 ? 0 : words;
  work.filter.words = words;
  if (!router.key_offsets.empty()) {
    work.filter.offsets = router.key_offsets.data();
    work.filter.groups = router.key_groups.data();
  }

  // Far keys are left between sinks and near rows: the lists serve them.
  const auto reads_lists = [](const NearRows& near) { return near.begin > near.sinks_end; };
  thread_local Scratch scratch_of_thread;
  Scratch& scratch = scratch_of_thread;
  scratch.cursors.assign(groups, {});
  scratch.ends.resize(count * heads);
  Cursor* const cursors = scratch.cursors.data();
  int64_t used = 0;
  for (int64_t query = 0; query < count; ++query) {
    if (!reads_lists(work.near[query])) continue;
    for (int64_t head = 0; head < heads; ++head) {
      const uint64_t* const set = work.filter.query_sets + query * work.filter.query_stride +
                                  head * work.filter.head_stride;
      reserve_set(scratch.groups, used, groups);
      uint16_t* const begin = scratch.groups.data() + used;
      uint16_t* const end =
          words == 1 ? list_groups<4>(set, 1, begin) : list_groups<2>(set, words, begin);
      for (const uint16_t* group = begin; group < end; ++group) ++cursors[*group].next;
      if (router.overlapping) {
        for (const uint16_t* group = begin + 1; group < end; ++group) {
          cursors[*group].first_shared = true;
        }
      }
      used += end - begin;
      check_fits_int32("entries of a block", used);
      scratch.ends[query * heads + head] = static_cast<int32_t>(used);
    }
  }
  int32_t room = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const int32_t size = cursors[group].next;
    if (size == 0) continue;
    cursors[group].next = room;
    work.passes.push_back({static_cast<int32_t>(group), room, 0, cursors[group].first_shared});
    room += size;
  }
  work.lanes.resize(room);
  if (room == 0) return;

  // The rows of a cursor are those with lowest <= position < near of the query at hand. Both only
  // grow, and each key that they pass moves the cursors of its groups.
  const auto search = [&](int32_t lowest, int32_t near) {
    for (const GroupPass& pass : work.passes) {
      const int32_t* const list = router.positions.data() + router.offsets[pass.group];
      const int32_t* const list_end = router.positions.data() + router.offsets[pass.group + 1];
      const int32_t* const end = std::lower_bound(list, list_end, near);
      cursors[pass.group].begin = static_cast<int32_t>(std::lower_bound(list, end, lowest) - list);
      cursors[pass.group].end = static_cast<int32_t>(end - list);
    }
  };
  reserve_set(scratch.groups, used, groups);
  uint16_t* const members = scratch.groups.data() + used;
  const auto pass_keys = [&](int32_t from, int32_t to, int32_t Cursor::*bound) {
    for (int32_t key = from; key < to; ++key) {
      if (plan_.is_sink(key)) continue;
      const uint16_t* const end =
          list_groups<1>(key_sets.set(key, key_router(kv_head)).data(), words, members);
      for (const uint16_t* group = members; group < end; ++group) ++(cursors[*group].*bound);
    }
  };
  const int64_t longest_walk = kKeysPerSearch * static_cast<int64_t>(work.passes.size());
  LaneRows* const lanes = work.lanes.data();
  const uint16_t* group = scratch.groups.data();
  int32_t lowest = -1, near = -1;
  for (int64_t query = 0; query < count; ++query) {
    const NearRows& rows = work.near[query];
    if (!reads_lists(rows)) continue;
    if (near < 0 || int64_t{rows.begin - near} + rows.sinks_begin - lowest > longest_walk) {
      search(rows.sinks_begin, rows.begin);
    } else {
      pass_keys(near, rows.begin, &Cursor::end);
      pass_keys(lowest, rows.sinks_begin, &Cursor::begin);
    }
    near = rows.begin;
    lowest = rows.sinks_begin;
    for (int64_t lane = query * heads; lane < (query + 1) * heads; ++lane) {
      for (const uint16_t* const end = scratch.groups.data() + scratch.ends[lane]; group < end;
           ++group) {
        Cursor& cursor = cursors[*group];
        lanes[cursor.next] = {static_cast<int32_t>(lane), cursor.begin, cursor.end};
        cursor.next += cursor.end > cursor.begin;
      }
    }
  }

  // Close the gaps of the entries without rows.
  size_t kept_passes = 0;
  int32_t filled = 0;
  for (GroupPass pass : work.passes) {
    const Cursor& cursor = cursors[pass.group];
    pass.count = cursor.next - pass.first;
    if (pass.count == 0) continue;
    if (filled != pass.first) std::copy(lanes + pass.first, lanes + cursor.next, lanes + filled);
    pass.first = filled;
    filled += pass.count;
    work.passes[kept_passes++] = pass;
  }
  work.passes.resize(kept_passes);
  work.lanes.resize(filled);
}

PairCount BlockPlan::count(std::vector<int32_t>* kept_per_row,
                           const ParallelFor* parallel_for) const {
  const Plan::Shape& shape = plan_.shape();
  const GroupSets* const query_sets = plan_.query_sets();
  const int64_t heads = heads_per_kv();
  const int64_t blocks = (shape.queries + kCountBlock - 1) / kCountBlock;
  if (kept_per_row != nullptr) kept_per_row->resize(shape.queries * shape.query_heads);
  std::atomic<int64_t> kept_total = 0;
  run(parallel_for, blocks * shape.kv_heads, [&](int64_t begin, int64_t end) {
    BlockWork work;
    std::vector<int32_t> kept;      // [lanes]
    std::vector<uint8_t> kept_row;  // [keys]
    for (int64_t task = begin; task < end; ++task) {
      const int64_t kv_head = task / blocks, first = task % blocks * kCountBlock;
      const int64_t queries = std::min(kCountBlock, shape.queries - first);
      fill(kv_head, first, queries, kNoSweep, work);
      kept.resize(queries * heads);
      for (int64_t lane = 0; lane < queries * heads; ++lane) {
        const NearRows& rows = work.near[lane / heads];
        kept[lane] = rows.sinks_end - rows.sinks_begin + rows.end - rows.begin;
      }
      bool shared = false;
      for (const GroupPass& pass : work.passes) {
        shared |= pass.first_shared;
        for (int32_t n = pass.first; n < pass.first + pass.count; ++n) {
          kept[work.lanes[n].lane] += work.lanes[n].end - work.lanes[n].begin;
        }
      }
      int64_t kept_block = 0;
      for (int64_t lane = 0; lane < queries * heads; ++lane) {
        const int64_t query = first + lane / heads, head = kv_head * heads + lane % heads;
        if (shared && has_several(query_sets->set(query, query_sets->heads() == 1 ? 0 : head))) {
          kept_row.resize(plan_.keys());
          kept[lane] = static_cast<int32_t>(plan_.row(head, query, kept_row));
        }
        kept_block += kept[lane];
        if (kept_per_row != nullptr) (*kept_per_row)[query * shape.query_heads + head] = kept[lane];
      }
      kept_total += kept_block;
    }
  });
  PairCount total{.kept = kept_total};
  for (int64_t query = 0; query < shape.queries; ++query) {
    total.causal += plan_.causal_keys(query) * shape.query_heads;
  }
  return total;
}

}  // namespace focus
