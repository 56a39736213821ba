#include "focus/kernels/routing/score_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "focus/kernels/routing/score_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace focus {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kRows rows share each load of the weights; every (row, output) keeps its own chain over d.
template <int kRows>
void score_block(const float* x, int64_t x_stride, int64_t width, const float* weights,
                 const float* bias, int64_t outputs, float* y, int64_t y_stride) {
  const hn::ScalableTag<float> tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(tag));
  int64_t o = 0;
  for (; o + lanes <= outputs; o += lanes) {
    const auto start = bias != nullptr ? hn::LoadU(tag, bias + o) : hn::Zero(tag);
    hn::VFromD<decltype(tag)> sum[kRows];
    for (int r = 0; r < kRows; ++r) sum[r] = start;
    for (int64_t d = 0; d < width; ++d) {
      const auto w = hn::LoadU(tag, weights + d * outputs + o);
      for (int r = 0; r < kRows; ++r)
        sum[r] = hn::MulAdd(hn::Set(tag, x[r * x_stride + d]), w, sum[r]);
    }
    for (int r = 0; r < kRows; ++r) hn::StoreU(sum[r], tag, y + r * y_stride + o);
  }
  const hn::CappedTag<float, 1> one;
  for (; o < outputs; ++o) {
    for (int r = 0; r < kRows; ++r) {
      auto sum = hn::Set(one, bias != nullptr ? bias[o] : 0.0f);
      for (int64_t d = 0; d < width; ++d) {
        sum = hn::MulAdd(hn::Set(one, x[r * x_stride + d]), hn::Set(one, weights[d * outputs + o]),
                         sum);
      }
      y[r * y_stride + o] = hn::GetLane(sum);
    }
  }
}

void score_rows(const float* x, int64_t x_stride, int64_t rows, int64_t width, const float* weights,
                const float* bias, int64_t outputs, float* y, int64_t y_stride) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    score_block<8>(x + r * x_stride, x_stride, width, weights, bias, outputs, y + r * y_stride,
                   y_stride);
  }
  for (; r < rows; ++r) {
    score_block<1>(x + r * x_stride, x_stride, width, weights, bias, outputs, y + r * y_stride,
                   y_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace focus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace focus {

HWY_EXPORT(score_rows);

void score_rows(const float* x, int64_t x_stride, int64_t rows, int64_t width, const float* weights,
                const float* bias, int64_t outputs, float* y, int64_t y_stride) {
  HWY_DYNAMIC_DISPATCH(score_rows)(x, x_stride, rows, width, weights, bias, outputs, y, y_stride);
}

}  // namespace focus
#endif
