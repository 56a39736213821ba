// The tile body that prefill's passes share: one unit of lanes against rows of a list of keys.
// Lanes are the elements of vectors, so every sum of a lane is a chain of its own over d or over
// rows, in ascending order, whatever the instruction set's width. Included once a target.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "focus/kernels/attention/key_pages.h"
#include "hwy/highway.h"

#if defined(FOCUS_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOCUS_KERNELS_TILE_INL_H_
#undef FOCUS_KERNELS_TILE_INL_H_
#else
#define FOCUS_KERNELS_TILE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace focus {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<Tag>;
using Vector = hn::VFromD<Tag>;
using IntVector = hn::VFromD<IntTag>;
using Mask = decltype(hn::Lt(Vector(), Vector()));

constexpr int kLanes = HWY_LANES(float);
constexpr int kVectors = 2;  // a unit: two vectors share each broadcast of a key
constexpr int kUnit = kLanes * kVectors;
// Independent sums a vector: with kVectors, enough to hide the latency of an FMA, few enough to
// stay in registers.
constexpr int kRows = kLanes == 16 ? 8 : 4;
constexpr int kMaxDim = 256;
constexpr int kTileRows = 64;  // tiles begin at multiples of this: a lane's sums group by row index
constexpr float kMasked = -1e30f;
// A lane's reference moves when a score exceeds it by this much (in powers of 2).
constexpr float kHeadroom = 12.0f;

// 2^x with relative error 2e-7, degree 5; x below -126 gives 2^-126, NaN stays NaN.
HWY_INLINE Vector exp2_vector(Vector x) {
  const Tag tag;
  const IntTag int_tag;
  const Vector magic = hn::Set(tag, 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  x = hn::Max(hn::Set(tag, -126.0f), x);
  const Vector rounded = hn::Add(x, magic);
  const Vector f = hn::Sub(x, hn::Sub(rounded, magic));
  Vector p = hn::Set(tag, 1.3264670269563794e-3f);
  p = hn::MulAdd(p, f, hn::Set(tag, 9.671499952673912e-3f));
  p = hn::MulAdd(p, f, hn::Set(tag, 5.550733581185341e-2f));
  p = hn::MulAdd(p, f, hn::Set(tag, 0.24022242426872253f));
  p = hn::MulAdd(p, f, hn::Set(tag, 0.6931470036506653f));
  p = hn::MulAdd(p, f, hn::Set(tag, 1.0f));
  const IntVector exponent = hn::ShiftLeft<23>(hn::BitCast(int_tag, rounded));
  return hn::BitCast(tag, hn::Add(hn::BitCast(int_tag, p), exponent));
}

// Lanes of one unit with their running softmax: weights are 2^(score - m).
struct Unit {
  HWY_ALIGN float q[kMaxDim * kUnit];  // [dim][kUnit], scale * log2(e) applied
  HWY_ALIGN float o[kMaxDim * kUnit];  // [dim][kUnit]
  HWY_ALIGN float m[kUnit];
  HWY_ALIGN float l[kUnit];
  HWY_ALIGN float seen[kUnit];  // 1 once the lane has had a key: m is a reference
  HWY_ALIGN int32_t begin[kUnit];
  HWY_ALIGN int32_t end[kUnit];
  HWY_ALIGN int32_t filter_begin[kUnit];
  HWY_ALIGN int32_t filter_end[kUnit];
};

HWY_INLINE float to_float(float x) { return x; }
HWY_INLINE float to_float(Bf16 x) { return hwy::F32FromBF16({x.bits}); }

#if HWY_TARGET == HWY_SCALAR
// to[d][lane] = factor * rows[lane][d]; rows[lane] may be nullptr (zeros).
template <typename T>
void pack_lanes(const T* const* rows, int64_t dim, float factor, float* to) {
  for (int lane = 0; lane < kUnit; ++lane) {
    for (int64_t d = 0; d < dim; ++d)
      to[d * kUnit + lane] = rows[lane] == nullptr ? 0.0f : factor * to_float(rows[lane][d]);
  }
}

// rows[lane][d] = from[d][lane], or += where add; lanes with rows[lane] == nullptr are left out.
template <bool kAdd>
void unpack_lanes(const float* from, int64_t dim, float* const* rows) {
  for (int lane = 0; lane < kUnit; ++lane) {
    for (int64_t d = 0; rows[lane] != nullptr && d < dim; ++d)
      rows[lane][d] = from[d * kUnit + lane] + (kAdd ? rows[lane][d] : 0.0f);
  }
}
#else
// Transposes the 4 x 4 blocks of four vectors.
HWY_INLINE void transpose4(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Tag tag;
  const hn::Repartition<double, Tag> wide;
  const auto ab_low = hn::BitCast(wide, hn::InterleaveLower(tag, a, b));
  const auto cd_low = hn::BitCast(wide, hn::InterleaveLower(tag, c, d));
  const auto ab_high = hn::BitCast(wide, hn::InterleaveUpper(tag, a, b));
  const auto cd_high = hn::BitCast(wide, hn::InterleaveUpper(tag, c, d));
  a = hn::BitCast(tag, hn::InterleaveLower(wide, ab_low, cd_low));
  b = hn::BitCast(tag, hn::InterleaveUpper(wide, ab_low, cd_low));
  c = hn::BitCast(tag, hn::InterleaveLower(wide, ab_high, cd_high));
  d = hn::BitCast(tag, hn::InterleaveUpper(wide, ab_high, cd_high));
}

using Four = hn::FixedTag<float, 4>;
HWY_INLINE hn::VFromD<Four> load_four(const float* from) { return hn::LoadU(Four(), from); }
HWY_INLINE hn::VFromD<Four> load_four(const Bf16* from) {
  const hn::FixedTag<uint16_t, 4> half;
  const hn::FixedTag<uint32_t, 4> whole;
  const auto bits = hn::PromoteTo(whole, hn::LoadU(half, reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(Four(), hn::ShiftLeft<16>(bits));
}

// to[d][lane] = factor * rows[lane][d]; rows[lane] may be nullptr (zeros).
template <typename T>
void pack_lanes(const T* const* rows, int64_t dim, float factor, float* to) {
  const Tag tag;
  HWY_ALIGN float pieces[kMaxDim * kLanes];  // [dim / 4][lane % 4][lane / 4][4]
  const Vector f = hn::Set(tag, factor);
  for (int n = 0; n < kVectors; ++n) {
    for (int lane = 0; lane < kLanes; ++lane) {
      float* piece = pieces + (lane % 4) * kLanes + (lane / 4) * 4;
      const T* row = rows[n * kLanes + lane];
      if (row == nullptr) {
        for (int64_t d = 0; d < dim; d += 4)
          hn::Store(hn::Zero(Four()), Four(), piece + d * kLanes);
      } else {
        for (int64_t d = 0; d < dim; d += 4)
          hn::Store(load_four(row + d), Four(), piece + d * kLanes);
      }
    }
    for (int64_t d = 0; d < dim; d += 4) {
      const float* from = pieces + d * kLanes;
      Vector a = hn::Load(tag, from), b = hn::Load(tag, from + kLanes),
             c = hn::Load(tag, from + 2 * kLanes), e = hn::Load(tag, from + 3 * kLanes);
      transpose4(a, b, c, e);
      float* out = to + d * kUnit + n * kLanes;
      hn::Store(hn::Mul(a, f), tag, out);
      hn::Store(hn::Mul(b, f), tag, out + kUnit);
      hn::Store(hn::Mul(c, f), tag, out + 2 * kUnit);
      hn::Store(hn::Mul(e, f), tag, out + 3 * kUnit);
    }
  }
}

// rows[lane][d] = from[d][lane], or += where add; lanes with rows[lane] == nullptr are left out.
template <bool kAdd>
void unpack_lanes(const float* from, int64_t dim, float* const* rows) {
  const Tag tag;
  HWY_ALIGN float pieces[kMaxDim * kLanes];
  for (int n = 0; n < kVectors; ++n) {
    for (int64_t d = 0; d < dim; d += 4) {
      const float* in = from + d * kUnit + n * kLanes;
      Vector a = hn::Load(tag, in), b = hn::Load(tag, in + kUnit),
             c = hn::Load(tag, in + 2 * kUnit), e = hn::Load(tag, in + 3 * kUnit);
      transpose4(a, b, c, e);
      float* piece = pieces + d * kLanes;
      hn::Store(a, tag, piece);
      hn::Store(b, tag, piece + kLanes);
      hn::Store(c, tag, piece + 2 * kLanes);
      hn::Store(e, tag, piece + 3 * kLanes);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      float* row = rows[n * kLanes + lane];
      if (row == nullptr) continue;
      const float* piece = pieces + (lane % 4) * kLanes + (lane / 4) * 4;
      for (int64_t d = 0; d < dim; d += 4) {
        auto x = hn::Load(Four(), piece + d * kLanes);
        if constexpr (kAdd) x = hn::Add(hn::LoadU(Four(), row + d), x);
        hn::StoreU(x, Four(), row + d);
      }
    }
  }
}

#endif

HWY_INLINE Mask bits_mask(uint32_t bits, int n) {
  const uint64_t mine = (bits >> (n * kLanes)) & ((uint64_t{1} << kLanes) - 1);
  return hn::LoadMaskBits(Tag(), reinterpret_cast<const uint8_t*>(&mine));
}

// Which rows a lane keeps. kRange: begin <= row < end. kFilter: moreover bits[row - first] where
// filter_begin <= row < filter_end.
enum class Keep { kAll, kRange, kFilter };

// The unit's ranges in registers.
template <Keep kKeep>
struct Ranges {
  IntVector begin[kVectors], end[kVectors], filter_begin[kVectors], filter_end[kVectors];

  explicit Ranges(const Unit& unit) {
    const auto load = [](const int32_t* x, int n) { return hn::Load(IntTag(), x + n * kLanes); };
    for (int n = 0; n < kVectors; ++n) {
      if constexpr (kKeep != Keep::kAll) {
        begin[n] = load(unit.begin, n);
        end[n] = load(unit.end, n);
      }
      if constexpr (kKeep == Keep::kFilter) {
        filter_begin[n] = load(unit.filter_begin, n);
        filter_end[n] = load(unit.filter_end, n);
      }
    }
  }
  HWY_INLINE Mask kept(int32_t row, uint32_t bits, int n) const {
    const IntVector r = hn::Set(IntTag(), row);
    Mask mask = hn::RebindMask(Tag(), hn::AndNot(hn::Gt(begin[n], r), hn::Lt(r, end[n])));
    if constexpr (kKeep == Keep::kFilter) {
      const auto outside = hn::Or(hn::Gt(filter_begin[n], r), hn::Not(hn::Lt(r, filter_end[n])));
      mask = hn::And(mask, hn::Or(hn::RebindMask(Tag(), outside), bits_mask(bits, n)));
    }
    return mask;
  }
};

// cap * tanh(x / cap) for x in log2 units: cap2 = cap * log2(e).
HWY_INLINE Vector soft_cap_vector(Vector x, float cap2) {
  const Tag tag;
  const Vector two = hn::Set(tag, 2.0f), one = hn::Set(tag, 1.0f);
  // tanh(y) = 1 - 2 / (1 + e^2y), odd; y = x ln 2 / cap: e^2y = 2^(2 x / cap).
  const Vector y = hn::Mul(x, hn::Set(tag, 1.0f / cap2));
  const Vector size = hn::Abs(y);
  const Vector power =
      exp2_vector(hn::Min(hn::Set(tag, 126.0f), hn::Mul(size, hn::Set(tag, 2.885390081777927f))));
  Vector t = hn::Sub(one, hn::Div(two, hn::Add(power, one)));
  // Near 0 the difference cancels: y - y^3 / 3 + 2 y^5 / 15 there.
  const Vector square = hn::Mul(size, size);
  const Vector series = hn::Mul(
      size, hn::MulAdd(square, hn::MulAdd(square, hn::Set(tag, 2.0f / 15), hn::Set(tag, -1.0f / 3)),
                       one));
  t = hn::IfThenElse(hn::Lt(size, hn::Set(tag, 0.07f)), series, t);
  return hn::Mul(hn::CopySign(t, x), hn::Set(tag, cap2));
}

struct CapParameters {
  float cap2 = 0;  // cap * log2(e)
};

// s[row][lane] for rows [row, row + R): scores minus the reference, masked; updates the maximum.
template <int R, Keep kKeep, bool kCap>
HWY_INLINE void score_tile(const Unit& unit, const Ranges<kKeep>& ranges, int64_t dim,
                           const float* k, int64_t stride, int32_t row, const uint32_t* bits,
                           CapParameters cap, float* s, Vector* top) {
  const Tag tag;
  Vector sum[R][kVectors];
  Vector reference[kVectors];
  for (int n = 0; n < kVectors; ++n) {
    reference[n] = hn::Load(tag, unit.m + n * kLanes);
    const Vector start = kCap ? hn::Zero(tag) : hn::Neg(reference[n]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sum[r][n] = start;
  }
  const float* q = unit.q;
  for (int64_t d = 0; d < dim; ++d, q += kUnit) {
    const Vector q0 = hn::Load(tag, q), q1 = hn::Load(tag, q + kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vector key = hn::Set(tag, k[r * stride + d]);
      sum[r][0] = hn::MulAdd(key, q0, sum[r][0]);
      sum[r][1] = hn::MulAdd(key, q1, sum[r][1]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int n = 0; n < kVectors; ++n) {
      Vector x = sum[r][n];
      if constexpr (kCap) x = hn::Sub(soft_cap_vector(x, cap.cap2), reference[n]);
      if constexpr (kKeep != Keep::kAll) {
        x = hn::IfThenElse(ranges.kept(row + r, kKeep == Keep::kFilter ? bits[r] : 0, n), x,
                           hn::Set(tag, kMasked));
      }
      top[n] = hn::Max(top[n], x);
      hn::Store(x, tag, s + r * kUnit + n * kLanes);
    }
  }
}

// Moves the reference of lanes whose scores ran away from it, or that see their first key.
HWY_NOINLINE void move_reference(Unit& unit, int64_t dim, int rows, float* s, const Vector* top) {
  const Tag tag;
  for (int n = 0; n < kVectors; ++n) {
    const Vector seen = hn::Load(tag, unit.seen + n * kLanes);
    const Mask first = hn::And(hn::Eq(seen, hn::Zero(tag)), hn::Gt(top[n], hn::Set(tag, -1e29f)));
    const Mask high = hn::Gt(top[n], hn::Set(tag, kHeadroom));
    const Vector move = hn::IfThenElseZero(hn::Or(first, high), top[n]);
    const Vector factor =
        hn::IfThenElse(hn::AndNot(first, high), exp2_vector(hn::Neg(move)), hn::Set(tag, 1.0f));
    const auto update = [&](float* x, Vector value) { hn::Store(value, tag, x + n * kLanes); };
    update(unit.m, hn::Add(hn::Load(tag, unit.m + n * kLanes), move));
    update(unit.l, hn::Mul(hn::Load(tag, unit.l + n * kLanes), factor));
    update(unit.seen, hn::IfThenElse(first, hn::Set(tag, 1.0f), seen));
    for (int64_t d = 0; d < dim; ++d) {
      float* o = unit.o + d * kUnit + n * kLanes;
      hn::Store(hn::Mul(hn::Load(tag, o), factor), tag, o);
    }
    for (int r = 0; r < rows; ++r) {
      float* x = s + r * kUnit + n * kLanes;
      hn::Store(hn::Sub(hn::Load(tag, x), move), tag, x);
    }
  }
}

// o[d][lane] += v[row][d] * s[row][lane] over the rows, for D values of d. kSafe: rows that a lane
// does not keep (weight 0) are skipped, as their values may be infinite or NaN.
template <int D, bool kSafe>
HWY_INLINE void add_values(const float* v, int64_t stride, int rows, const float* s, float* o) {
  const Tag tag;
  Vector sum[D][kVectors];
#pragma GCC unroll 16
  for (int d = 0; d < D; ++d) {
    sum[d][0] = hn::Load(tag, o + d * kUnit);
    sum[d][1] = hn::Load(tag, o + d * kUnit + kLanes);
  }
  for (int r = 0; r < rows; ++r, v += stride, s += kUnit) {
    const Vector w0 = hn::Load(tag, s), w1 = hn::Load(tag, s + kLanes);
#pragma GCC unroll 16
    for (int d = 0; d < D; ++d) {
      const Vector value = hn::Set(tag, v[d]);
      if constexpr (kSafe) {
        const auto zero = hn::Zero(tag);
        sum[d][0] = hn::IfThenElse(hn::Eq(w0, zero), sum[d][0], hn::MulAdd(value, w0, sum[d][0]));
        sum[d][1] = hn::IfThenElse(hn::Eq(w1, zero), sum[d][1], hn::MulAdd(value, w1, sum[d][1]));
      } else {
        sum[d][0] = hn::MulAdd(value, w0, sum[d][0]);
        sum[d][1] = hn::MulAdd(value, w1, sum[d][1]);
      }
    }
  }
#pragma GCC unroll 16
  for (int d = 0; d < D; ++d) {
    hn::Store(sum[d][0], tag, o + d * kUnit);
    hn::Store(sum[d][1], tag, o + d * kUnit + kLanes);
  }
}

// Rows [first, first + rows) of one tile, rows <= kTileRows. bits: [rows] where kFilter.
template <Keep kKeep, bool kSafe, bool kCap>
void run_tile(Unit& unit, int64_t dim, const KeyRows& keys, int32_t first, int rows,
              const uint32_t* bits, CapParameters cap) {
  const Tag tag;
  HWY_ALIGN float s[kTileRows * kUnit];
  Vector top[kVectors];
  for (auto& x : top) x = hn::Set(tag, kMasked);
  const float* k = keys.k + first * keys.k_stride;
  // A row's scores are the same whichever block of rows they come in, so the last block may overlap
  // the one before.
  const Ranges<kKeep> ranges(unit);
  const auto scores = [&]<int R>(std::integral_constant<int, R>, int from) {
    score_tile<R, kKeep, kCap>(unit, ranges, dim, k + from * keys.k_stride, keys.k_stride,
                               first + from, bits + from, cap, s + from * kUnit, top);
  };
  constexpr std::integral_constant<int, kRows> kMany;
  constexpr std::integral_constant<int, kRows / 2> kHalf;
  constexpr std::integral_constant<int, 1> kOne;
  int r = 0;
  for (; r + kRows <= rows; r += kRows) scores(kMany, r);
  if (r < rows) {
    if (rows - r > kRows / 2 && rows >= kRows) {
      scores(kMany, rows - kRows);
    } else if (rows >= kRows / 2) {
      for (; r + kRows / 2 <= rows; r += kRows / 2) scores(kHalf, r);
      if (r < rows) scores(kHalf, rows - kRows / 2);
    } else {
      for (; r < rows; ++r) scores(kOne, r);
    }
  }
  bool move = false;
  for (int n = 0; n < kVectors; ++n) {
    const Mask unseen = hn::And(hn::Eq(hn::Load(tag, unit.seen + n * kLanes), hn::Zero(tag)),
                                hn::Gt(top[n], hn::Set(tag, -1e29f)));
    move |= !hn::AllFalse(tag, hn::Or(unseen, hn::Gt(top[n], hn::Set(tag, kHeadroom))));
  }
  if (move) move_reference(unit, dim, rows, s, top);
  Vector sum[kVectors];
  for (int n = 0; n < kVectors; ++n) sum[n] = hn::Load(tag, unit.l + n * kLanes);
  for (r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int n = 0; n < kVectors; ++n) {
      float* x = s + r * kUnit + n * kLanes;
      const Vector score = hn::Load(tag, x);
      Vector weight = exp2_vector(score);
      if constexpr (kKeep != Keep::kAll)
        weight = hn::IfThenZeroElse(hn::Le(score, hn::Set(tag, -1e29f)), weight);
      sum[n] = hn::Add(sum[n], weight);
      hn::Store(weight, tag, x);
    }
  }
  for (int n = 0; n < kVectors; ++n) hn::Store(sum[n], tag, unit.l + n * kLanes);
  const float* v = keys.v + first * keys.v_stride;
  for (int64_t d = 0; d < dim; d += kRows)
    add_values<kRows, kSafe>(v + d, keys.v_stride, rows, s, unit.o + d * kUnit);
}

}  // namespace HWY_NAMESPACE
}  // namespace focus
HWY_AFTER_NAMESPACE();

#endif
