#pragma once

#include <cstdint>
#include <span>

#include "focus/base/random.h"

namespace focus {

struct SamplingOptions {
  double temperature = 0;  // 0: the highest logit, between equals the lower id
  int64_t top_k = 0;       // 0: all
  double top_p = 1;        // keep the fewest best tokens whose probability reaches this
  uint64_t seed = 0;

  // Error(kUsage) for a negative or non-finite temperature, top_k < 0 or top_p outside (0, 1].
  void check() const;
};

// One stream of draws: the same seed and logits give the same tokens.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);
  // logits: [vocab]. Error(kNumeric) when one is NaN.
  int32_t next(std::span<const float> logits);

 private:
  SamplingOptions options_;
  Random random_;
};

}  // namespace focus
