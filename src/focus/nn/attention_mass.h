// Where dense attention looks: the teacher of routers and the judge of masks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "focus/nn/layer_inputs.h"

namespace focus {

// Dense causal attention probabilities of some query rows of a whole window (inputs.first == 0).
//   rows: ascending positions in [0, n). Returns [heads, rows, n] fp32, 0 where the key is later
//   than the query.
at::Tensor attention_probabilities(const LayerInputs& inputs, std::span<const int64_t> rows);

// `count` distinct positions of [0, tokens), ascending, drawn from the seed; all of them when count
// >= tokens.
std::vector<int64_t> sample_rows(int64_t tokens, int64_t count, uint64_t seed);

}  // namespace focus
