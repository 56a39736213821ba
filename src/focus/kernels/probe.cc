#include "focus/kernels/probe.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "focus/kernels/probe.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace focus {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

ProbeResult fma_probe(int64_t steps) {
  const hn::ScalableTag<float> tag;
  using Vector = hn::VFromD<decltype(tag)>;
  // Enough chains to hide the latency of two units, few enough for 16 registers. x -> x/2 + 1/2
  // stays finite.
  const Vector half = hn::Set(tag, 0.5f);
  Vector a = hn::Iota(tag, 0), b = hn::Iota(tag, 1), c = hn::Iota(tag, 2), d = hn::Iota(tag, 3),
         e = hn::Iota(tag, 4), f = hn::Iota(tag, 5), g = hn::Iota(tag, 6), h = hn::Iota(tag, 7),
         i = hn::Iota(tag, 8), j = hn::Iota(tag, 9), k = hn::Iota(tag, 10), l = hn::Iota(tag, 11);
  for (int64_t n = 0; n < steps; ++n) {
    a = hn::MulAdd(a, half, half);
    b = hn::MulAdd(b, half, half);
    c = hn::MulAdd(c, half, half);
    d = hn::MulAdd(d, half, half);
    e = hn::MulAdd(e, half, half);
    f = hn::MulAdd(f, half, half);
    g = hn::MulAdd(g, half, half);
    h = hn::MulAdd(h, half, half);
    i = hn::MulAdd(i, half, half);
    j = hn::MulAdd(j, half, half);
    k = hn::MulAdd(k, half, half);
    l = hn::MulAdd(l, half, half);
  }
  const Vector sum = hn::Add(
      hn::Add(hn::Add(a, b), hn::Add(c, d)),
      hn::Add(hn::Add(hn::Add(e, f), hn::Add(g, h)), hn::Add(hn::Add(i, j), hn::Add(k, l))));
  return {steps * 12 * 2 * static_cast<int64_t>(hn::Lanes(tag)),
          hn::GetLane(hn::SumOfLanes(tag, sum))};
}

const char* kernel_target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace focus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace focus {

HWY_EXPORT(fma_probe);
HWY_EXPORT(kernel_target);

ProbeResult fma_probe(int64_t steps) { return HWY_DYNAMIC_DISPATCH(fma_probe)(steps); }
const char* kernel_target() { return HWY_DYNAMIC_DISPATCH(kernel_target)(); }

}  // namespace focus
#endif
