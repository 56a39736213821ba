#include "focus/kernels/attention/attention.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "focus/base/error.h"
#include "focus/kernels/attention/key_pages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "focus/kernels/attention/attention.cc"
// foreach_target re-includes this file once a target, so it stands before every per-target header.
// clang-format off
#include "hwy/foreach_target.h"
#include "focus/kernels/attention/tile-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace focus {
namespace HWY_NAMESPACE {

// Lane masks of the groups that a unit's lanes read, for the filters.
class GroupMasks {
 public:
  explicit GroupMasks(const GroupFilter& filter)
      : filter_(filter), masks_(static_cast<size_t>(filter.words * 64), 0) {}

  void clear() {
    for (int32_t group : touched_) masks_[group] = 0;
    touched_.clear();
  }
  void add(int bit, int64_t query, int64_t head) {
    const uint64_t* set =
        filter_.query_sets + query * filter_.query_stride + head * filter_.head_stride;
    for (int64_t w = 0; w < filter_.words; ++w) {
      for (uint64_t rest = set[w]; rest != 0; rest &= rest - 1) {
        const auto group = static_cast<int32_t>(w * 64 + __builtin_ctzll(rest));
        if (masks_[group] == 0) touched_.push_back(group);
        masks_[group] |= uint32_t{1} << bit;
      }
    }
  }
  // Lanes that share a group below `limit` with key j.
  uint32_t sharing(int32_t key, int32_t limit) const {
    uint32_t lanes = 0;
    for (int32_t n = filter_.offsets[key]; n < filter_.offsets[key + 1]; ++n) {
      if (filter_.groups[n] >= limit) break;
      lanes |= masks_[filter_.groups[n]];
    }
    return lanes;
  }

 private:
  GroupFilter filter_;
  std::vector<uint32_t> masks_;  // [groups]
  std::vector<int32_t> touched_;
};

constexpr int kUnitsAtOnce = 8;  // units that share each tile of near keys while it is in cache

// What one thread needs for a block; reused.
struct Workspace {
  std::unique_ptr<Unit[]> units{new Unit[kUnitsAtOnce]};
  std::vector<float> o;           // [lanes][dim], normalised at the end
  std::vector<float> m, l, seen;  // [lanes]
  BlockWork work;
};

template <typename T>
class Block {
 public:
  Block(const AttentionCall<T>& call, const KeyPages& pages, const BlockRange& range,
        Workspace& space)
      : call_(call),
        pages_(pages),
        range_(range),
        space_(space),
        dim_(call.shape.dim),
        per_kv_(call.shape.query_heads / call.shape.kv_heads),
        lanes_(range.count * per_kv_) {}

  void run() {
    call_.work.block(range_.kv_head, range_.first, range_.count, space_.work);
    space_.o.resize(lanes_ * dim_);
    space_.m.resize(lanes_);
    space_.l.resize(lanes_);
    space_.seen.resize(lanes_);
    for (int64_t lane = 0; lane < lanes_; lane += kUnitsAtOnce * kUnit) {
      const int64_t count = std::min<int64_t>(kUnitsAtOnce * kUnit, lanes_ - lane);
      near(lane, static_cast<int>((count + kUnit - 1) / kUnit));
    }
    for (const GroupPass& pass : space_.work.passes) {
      for (int32_t n = 0; n < pass.count; n += kUnit)
        group(pass, pass.first + n, std::min<int32_t>(kUnit, pass.count - n));
    }
    finish();
  }

 private:
  int64_t query(int64_t lane) const { return lane / per_kv_; }
  int64_t head(int64_t lane) const { return lane % per_kv_; }
  int64_t query_head(int64_t lane) const { return range_.kv_head * per_kv_ + head(lane); }
  const T* query_row(int64_t lane) const {
    return call_.q.row(range_.first + query(lane), query_head(lane));
  }

  // Runs the rows [first, last) that some lane of the unit keeps, tile by tile.
  template <Keep kKeep>
  void tile(Unit& unit, const KeyRows& keys, int32_t first, int rows, const uint32_t* bits) {
    const CapParameters cap{call_.cap2};
    const bool safe = kKeep != Keep::kAll && !pages_.finite;
    if (call_.cap2 > 0) {
      safe ? run_tile<kKeep, true, true>(unit, dim_, keys, first, rows, bits, cap)
           : run_tile<kKeep, false, true>(unit, dim_, keys, first, rows, bits, cap);
    } else {
      safe ? run_tile<kKeep, true, false>(unit, dim_, keys, first, rows, bits, cap)
           : run_tile<kKeep, false, false>(unit, dim_, keys, first, rows, bits, cap);
    }
  }

  // Lanes of unit u of those from `lane` on.
  int lanes_of(int64_t lane, int u) const {
    return static_cast<int>(std::min<int64_t>(kUnit, lanes_ - lane - u * kUnit));
  }

  struct Span {
    int32_t first = 0, last = 0;          // rows that some lane keeps
    int32_t all_first = 0, all_last = 0;  // rows that every lane keeps
    bool empty() const { return first >= last; }
  };
  // Of the unit's first `count` lanes: the others have no query, and what they sum is not read.
  static Span span(const Unit& unit, int count) {
    Span s{std::numeric_limits<int32_t>::max(), 0, 0, std::numeric_limits<int32_t>::max()};
    for (int n = 0; n < count; ++n) {
      if (unit.begin[n] < unit.end[n]) {
        s.first = std::min(s.first, unit.begin[n]);
        s.last = std::max(s.last, unit.end[n]);
      }
      s.all_first = std::max(s.all_first, unit.begin[n]);
      s.all_last = std::min(s.all_last, unit.end[n]);
    }
    return s;
  }

  // The near rows of up to kUnitsAtOnce units from `lane` on.
  void near(int64_t lane, int units) {
    Span spans[kUnitsAtOnce];
    int32_t filter_first[kUnitsAtOnce], filter_last[kUnitsAtOnce];
    int32_t first = std::numeric_limits<int32_t>::max(), last = 0;
    const auto& rows = space_.work.near;
    for (int u = 0; u < units; ++u) {
      Unit& unit = space_.units[u];
      const T* q[kUnit];
      bool sinks = false;
      filter_first[u] = std::numeric_limits<int32_t>::max();
      filter_last[u] = 0;
      for (int n = 0; n < kUnit; ++n) {
        const int64_t at = lane + u * kUnit + n;
        const bool here = at < lanes_;
        const NearRows r = here ? rows[query(at)] : NearRows{};
        q[n] = here ? query_row(at) : nullptr;
        unit.begin[n] = r.sinks_begin;
        unit.end[n] = r.sinks_end;
        sinks |= r.sinks_begin < r.sinks_end;
        unit.filter_begin[n] = r.filter_begin;
        unit.filter_end[n] = r.filter_end;
        if (r.filter_begin < r.filter_end) {
          filter_first[u] = std::min(filter_first[u], r.filter_begin);
          filter_last[u] = std::max(filter_last[u], r.filter_end);
        }
      }
      pack_lanes(q, dim_, call_.factor, unit.q);
      std::memset(unit.o, 0, sizeof(float) * static_cast<size_t>(dim_ * kUnit));
      std::memset(unit.m, 0, sizeof unit.m);
      std::memset(unit.l, 0, sizeof unit.l);
      std::memset(unit.seen, 0, sizeof unit.seen);
      if (sinks) {
        const Span s = span(unit, lanes_of(lane, u));
        for (int32_t r = s.first; r < s.last;) {
          const int32_t stop = std::min(s.last, (r / kTileRows + 1) * kTileRows);
          if (r >= s.all_first && stop <= s.all_last)
            tile<Keep::kAll>(unit, pages_.near, r, stop - r, nullptr);
          else
            tile<Keep::kRange>(unit, pages_.near, r, stop - r, nullptr);
          r = stop;
        }
      }
      for (int n = 0; n < kUnit; ++n) {
        const int64_t at = lane + u * kUnit + n;
        const NearRows r = at < lanes_ ? rows[query(at)] : NearRows{};
        unit.begin[n] = r.begin;
        unit.end[n] = r.end;
      }
      spans[u] = span(unit, lanes_of(lane, u));
      if (!spans[u].empty()) {
        first = std::min(first, spans[u].first);
        last = std::max(last, spans[u].last);
      }
    }
    std::vector<GroupMasks> masks;
    for (int u = 0; u < units; ++u) {
      if (filter_first[u] >= filter_last[u]) continue;
      if (masks.empty()) masks.resize(units, GroupMasks(space_.work.filter));
      for (int n = 0; n < kUnit; ++n) {
        const int64_t at = lane + u * kUnit + n;
        if (at < lanes_) masks[u].add(n, query(at), head(at));
      }
    }
    for (int32_t tile_first = first / kTileRows * kTileRows; tile_first < last;
         tile_first += kTileRows) {
      for (int u = 0; u < units; ++u) {
        const Span& s = spans[u];
        if (s.empty()) continue;
        const int32_t begin = std::max(tile_first, s.first),
                      end = std::min(tile_first + kTileRows, s.last);
        if (begin >= end) continue;
        if (begin < filter_last[u] && end > filter_first[u]) {
          uint32_t bits[kTileRows];
          uint32_t any = 0;
          for (int32_t j = begin; j < end; ++j) {
            bits[j - begin] = masks[u].sharing(j, std::numeric_limits<int32_t>::max());
            any |= bits[j - begin];
          }
          tile<Keep::kFilter>(space_.units[u], pages_.near, begin, end - begin, bits);
        } else if (begin >= s.all_first && end <= s.all_last) {
          tile<Keep::kAll>(space_.units[u], pages_.near, begin, end - begin, nullptr);
        } else {
          tile<Keep::kRange>(space_.units[u], pages_.near, begin, end - begin, nullptr);
        }
      }
    }
    for (int u = 0; u < units; ++u) {
      const Unit& unit = space_.units[u];
      float* o[kUnit];
      for (int n = 0; n < kUnit; ++n) {
        const int64_t at = lane + u * kUnit + n;
        o[n] = at < lanes_ ? &space_.o[at * dim_] : nullptr;
        if (at >= lanes_) continue;
        space_.m[at] = unit.m[n];
        space_.l[at] = unit.l[n];
        space_.seen[at] = unit.seen[n];
      }
      unpack_lanes<false>(unit.o, dim_, o);
    }
  }

  // `count` lanes of one group from `first` on: a sum of their own, then added to the lanes' state.
  void group(const GroupPass& pass, int32_t first, int32_t count) {
    Unit& unit = space_.units[0];
    const T* q[kUnit];
    float* o[kUnit];
    for (int n = 0; n < kUnit; ++n) {
      const LaneRows r = n < count ? space_.work.lanes[first + n] : LaneRows{};
      q[n] = n < count ? query_row(r.lane) : nullptr;
      o[n] = n < count ? &space_.o[r.lane * dim_] : nullptr;
      unit.begin[n] = unit.filter_begin[n] = r.begin;
      unit.end[n] = unit.filter_end[n] = r.end;
      unit.m[n] = n < count ? space_.m[r.lane] : 0;
      unit.seen[n] = n < count ? space_.seen[r.lane] : 0;
    }
    pack_lanes(q, dim_, call_.factor, unit.q);
    std::memset(unit.o, 0, sizeof(float) * static_cast<size_t>(dim_ * kUnit));
    std::memset(unit.l, 0, sizeof unit.l);
    const Span s = span(unit, count);
    const KeyRows keys = pages_.group(pass.group, dim_);
    const int32_t* positions = pages_.positions(pass.group);
    std::unique_ptr<GroupMasks> masks;
    if (pass.first_shared) {
      masks = std::make_unique<GroupMasks>(space_.work.filter);
      for (int n = 0; n < count; ++n) {
        const int64_t lane = space_.work.lanes[first + n].lane;
        masks->add(n, query(lane), head(lane));
      }
    }
    for (int32_t r = s.first; r < s.last;) {
      const int32_t stop = std::min(s.last, (r / kTileRows + 1) * kTileRows);
      if (masks != nullptr) {
        uint32_t bits[kTileRows];
        for (int32_t n = r; n < stop; ++n) bits[n - r] = ~masks->sharing(positions[n], pass.group);
        tile<Keep::kFilter>(unit, keys, r, stop - r, bits);
      } else if (r >= s.all_first && stop <= s.all_last) {
        tile<Keep::kAll>(unit, keys, r, stop - r, nullptr);
      } else {
        tile<Keep::kRange>(unit, keys, r, stop - r, nullptr);
      }
      r = stop;
    }
    for (int32_t n = 0; n < count; ++n) {
      const int64_t lane = space_.work.lanes[first + n].lane;
      if (unit.m[n] != space_.m[lane]) {  // rare: a score far above the reference
        const float factor = space_.seen[lane] != 0 ? std::exp2(space_.m[lane] - unit.m[n]) : 1.0f;
        for (int64_t d = 0; d < dim_; ++d) o[n][d] *= factor;
        space_.l[lane] *= factor;
        space_.m[lane] = unit.m[n];
      }
      space_.seen[lane] = unit.seen[n];
      space_.l[lane] += unit.l[n];
    }
    unpack_lanes<true>(unit.o, dim_, o);
  }

  void finish() {
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const bool none = space_.seen[lane] == 0 && space_.l[lane] == 0;
      const float inverse = none ? 0.0f : 1.0f / space_.l[lane];
      const float* from = &space_.o[lane * dim_];
      T* to = call_.out.row(range_.first + query(lane), query_head(lane));
      for (int64_t d = 0; d < dim_; ++d) store(from[d] * inverse, to + d);
      if (call_.lse != nullptr) {
        call_.lse[(range_.first + query(lane)) * call_.shape.query_heads + query_head(lane)] =
            none ? -std::numeric_limits<float>::infinity()
                 : (space_.m[lane] + std::log2(space_.l[lane])) * 0.6931471805599453f;
      }
    }
  }
  static void store(float x, float* to) { *to = x; }
  static void store(float x, Bf16* to) { *to = bf16_from_float(x); }

  const AttentionCall<T>& call_;
  const KeyPages& pages_;
  const BlockRange range_;
  Workspace& space_;
  const int64_t dim_, per_kv_, lanes_;
};

template <typename T>
void run_blocks(const AttentionCall<T>& call, const KeyPages* pages,
                const std::vector<BlockRange>& ranges, const ParallelFor& parallel_for) {
  std::atomic<size_t> next{0};
  parallel_for(static_cast<int64_t>(ranges.size()), [&](int64_t begin, int64_t end) {
    Workspace space;
    for (int64_t n = begin; n < end; ++n) {
      const BlockRange& range = ranges[next++];
      Block<T>(call, pages[range.kv_head - ranges.front().kv_head], range, space).run();
    }
  });
}

void run_f32(const AttentionCall<float>& call, const KeyPages* pages,
             const std::vector<BlockRange>& ranges, const ParallelFor& parallel_for) {
  run_blocks(call, pages, ranges, parallel_for);
}
void run_bf16(const AttentionCall<Bf16>& call, const KeyPages* pages,
              const std::vector<BlockRange>& ranges, const ParallelFor& parallel_for) {
  run_blocks(call, pages, ranges, parallel_for);
}

}  // namespace HWY_NAMESPACE
}  // namespace focus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace focus {
namespace {

HWY_EXPORT(run_f32);
HWY_EXPORT(run_bf16);

void run(const AttentionCall<float>& call, const KeyPages* pages,
         const std::vector<BlockRange>& ranges, const ParallelFor& parallel_for) {
  HWY_DYNAMIC_DISPATCH(run_f32)(call, pages, ranges, parallel_for);
}
void run(const AttentionCall<Bf16>& call, const KeyPages* pages,
         const std::vector<BlockRange>& ranges, const ParallelFor& parallel_for) {
  HWY_DYNAMIC_DISPATCH(run_bf16)(call, pages, ranges, parallel_for);
}

void check(const AttentionShape& shape) {
  if (shape.dim < 8 || shape.dim > 256 || shape.dim % 8 != 0) {
    throw Error(ErrorKind::kUnsupported, "attention",
                "a head dim that is a multiple of 8, 8 to 256", std::to_string(shape.dim));
  }
  if (shape.queries < 0 || shape.keys < 0 || shape.keys > kMaxKeys || shape.kv_heads < 1 ||
      shape.query_heads < shape.kv_heads || shape.query_heads % shape.kv_heads != 0) {
    throw Error(
        ErrorKind::kUsage, "attention", "query heads a multiple of KV heads, lengths 0 to 2^31 - 1",
        std::to_string(shape.query_heads) + " and " + std::to_string(shape.kv_heads) + " heads, " +
            std::to_string(shape.queries) + " queries, " + std::to_string(shape.keys) + " keys");
  }
}

// Queries a block: enough lanes for each group's units to fill, enough blocks to share among
// threads.
int64_t block_queries(const AttentionShape& shape, bool grouped) {
  const int64_t per_kv = shape.query_heads / shape.kv_heads;
  const int64_t near = std::max<int64_t>(1, 256 / per_kv);
  if (!grouped) return near;
  const int64_t most = std::max(near, 3072 / per_kv);
  return std::clamp(shape.queries / 4, near, most);
}

}  // namespace

template <typename T>
void attention_forward(const AttentionShape& shape, HeadRows<const T> q, HeadRows<const T> k,
                       HeadRows<const T> v, const AttentionWork& work, HeadRows<T> out, float* lse,
                       const ParallelFor& parallel_for) {
  check(shape);
  if (shape.queries == 0) return;
  constexpr double kLog2E = 1.4426950408889634;
  const AttentionCall<T> call{.shape = shape,
                              .q = q,
                              .work = work,
                              .out = out,
                              .lse = lse,
                              .factor = static_cast<float>(shape.scale * kLog2E),
                              .cap2 = static_cast<float>(shape.soft_cap * kLog2E)};
  // Gathered keys of as many KV heads at once as fit a budget; of one at least.
  for (int64_t head = 0; head < shape.kv_heads;) {
    std::vector<KeyPages> pages;
    int64_t bytes = 0;
    const int64_t begin = head;
    for (; head < shape.kv_heads && (head == begin || bytes < kPageBudget); ++head) {
      pages.emplace_back(shape, work.lists(head), head);
      bytes += pages.back().bytes(std::is_same_v<T, Bf16>);
    }
    fill_pages(shape, k, v, pages, parallel_for);
    bool grouped = false;
    for (const auto& page : pages) grouped |= page.grouped();
    const int64_t step = block_queries(shape, grouped);
    std::vector<BlockRange> ranges;
    // The last blocks see the most keys: they go first.
    for (int64_t n = (shape.queries + step - 1) / step - 1; n >= 0; --n) {
      for (int64_t kv = begin; kv < head; ++kv)
        ranges.push_back({kv, n * step, std::min(step, shape.queries - n * step)});
    }
    run(call, pages.data(), ranges, parallel_for);
  }
}

template void attention_forward(const AttentionShape&, HeadRows<const float>, HeadRows<const float>,
                                HeadRows<const float>, const AttentionWork&, HeadRows<float>,
                                float*, const ParallelFor&);
template void attention_forward(const AttentionShape&, HeadRows<const Bf16>, HeadRows<const Bf16>,
                                HeadRows<const Bf16>, const AttentionWork&, HeadRows<Bf16>, float*,
                                const ParallelFor&);

}  // namespace focus
#endif
