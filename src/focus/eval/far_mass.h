// How much of what dense attention sends outside window and sinks a mask keeps.
#pragma once

#include <vector>

#include "focus/nn/layer_inputs.h"
#include "focus/nn/router.h"

namespace focus {

// Sums over the observed windows' sampled query rows, the same rows for every mask.
class FarMass {
 public:
  // near: whose window and sinks say what is far (the adapter's).
  FarMass(std::vector<Mask> masks, const Rule& near, int64_t layers, int64_t heads);

  void observe(const LayerInputs& inputs, const std::vector<int64_t>& rows);

  // Kept share over all layers and heads; NaN when nothing was far.
  double kept(size_t mask) const;
  // [layers][heads].
  std::vector<std::vector<double>> kept_by_head(size_t mask) const;
  // Far mass itself, mean over rows: [layers][heads].
  std::vector<std::vector<double>> far_by_head() const;

 private:
  std::vector<Mask> masks_;
  Rule near_;
  int64_t layers_, heads_;
  std::vector<double> far_, rows_;         // [layers * heads]
  std::vector<std::vector<double>> kept_;  // [masks][layers * heads]
};

}  // namespace focus
