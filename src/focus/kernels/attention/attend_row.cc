#include "focus/kernels/attention/attend_row.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "focus/kernels/attention/attend_row.cc"
// foreach_target re-includes this file once a target, so it stands before every per-target header.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace focus {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::VFromD<Tag>;

Vector load(Tag tag, const float* from) { return hn::LoadU(tag, from); }
Vector load(Tag tag, const Bf16* from) {
  const hn::Rebind<uint16_t, Tag> half;
  const hn::Rebind<uint32_t, Tag> whole;
  const auto bits = hn::PromoteTo(whole, hn::LoadU(half, reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(tag, hn::ShiftLeft<16>(bits));
}
float scalar(const float* from) { return *from; }
float scalar(const Bf16* from) { return hwy::F32FromBF16({from->bits}); }

template <typename T>
float dot(const float* q, const T* k, int64_t dim) {
  const Tag tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
  Vector sum = hn::Zero(tag);
  int64_t d = 0;
  for (; d + lanes <= dim; d += lanes)
    sum = hn::MulAdd(hn::LoadU(tag, q + d), load(tag, k + d), sum);
  float total = hn::GetLane(hn::SumOfLanes(tag, sum));
  for (; d < dim; ++d) total += q[d] * scalar(k + d);
  return total;
}

template <typename T>
void add_scaled(float weight, const T* v, int64_t dim, float* out) {
  const Tag tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
  const Vector w = hn::Set(tag, weight);
  int64_t d = 0;
  for (; d + lanes <= dim; d += lanes)
    hn::StoreU(hn::MulAdd(w, load(tag, v + d), hn::LoadU(tag, out + d)), tag, out + d);
  for (; d < dim; ++d) out[d] += weight * scalar(v + d);
}

template <typename T>
float attend(const float* q, int64_t dim, float scale, const T* k, const T* v, int64_t stride,
             const int32_t* keys, int64_t count, float* scores, float* out) {
  const Tag tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
  for (int64_t d = 0; d < dim; ++d) out[d] = 0;
  if (count == 0) return -std::numeric_limits<float>::infinity();
  float top = -std::numeric_limits<float>::infinity();
  for (int64_t n = 0; n < count; ++n) {
    scores[n] = scale * dot(q, k + keys[n] * stride, dim);
    top = scores[n] > top ? scores[n] : top;
  }
  for (int64_t n = count; n < count + lanes; ++n) scores[n] = top;  // the last vector's tail
  for (int64_t n = 0; n < count; n += lanes) {
    hn::StoreU(hn::Exp(tag, hn::Sub(hn::LoadU(tag, scores + n), hn::Set(tag, top))), tag,
               scores + n);
  }
  float total = 0;
  for (int64_t n = 0; n < count; ++n) {
    total += scores[n];
    add_scaled(scores[n], v + keys[n] * stride, dim, out);
  }
  const float inverse = 1 / total;
  for (int64_t d = 0; d < dim; ++d) out[d] *= inverse;
  return top + std::log(total);
}

float attend_f32(const float* q, int64_t dim, float scale, const float* k, const float* v,
                 int64_t stride, const int32_t* keys, int64_t count, float* scores, float* out) {
  return attend(q, dim, scale, k, v, stride, keys, count, scores, out);
}
float attend_bf16(const float* q, int64_t dim, float scale, const Bf16* k, const Bf16* v,
                  int64_t stride, const int32_t* keys, int64_t count, float* scores, float* out) {
  return attend(q, dim, scale, k, v, stride, keys, count, scores, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace focus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace focus {

HWY_EXPORT(attend_f32);
HWY_EXPORT(attend_bf16);

template <>
float attend_row(const float* q, int64_t dim, float scale, const float* k, const float* v,
                 int64_t stride, const int32_t* keys, int64_t count, float* scratch, float* out) {
  return HWY_DYNAMIC_DISPATCH(attend_f32)(q, dim, scale, k, v, stride, keys, count, scratch, out);
}
template <>
float attend_row(const float* q, int64_t dim, float scale, const Bf16* k, const Bf16* v,
                 int64_t stride, const int32_t* keys, int64_t count, float* scratch, float* out) {
  return HWY_DYNAMIC_DISPATCH(attend_bf16)(q, dim, scale, k, v, stride, keys, count, scratch, out);
}

}  // namespace focus
#endif
