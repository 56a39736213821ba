// Negative log-likelihood under a mask.
#pragma once

#include <cstdint>
#include <vector>

#include "focus/nn/decoder.h"

namespace focus {

// NLL in nats of tokens[1..] given what precedes each, through `attention` in one pass; entry t - 1
// belongs to token t. Logits are made in chunks: memory does not grow with tokens x vocabulary.
std::vector<double> token_nll(const Decoder& decoder, const std::vector<int32_t>& tokens,
                              KvCache& cache, const LayerAttention& attention);

// The copy test (routing.md, "copy"): tokens 100-299 again at T - 324 ... T - 125; mean NLL of the
// last 180 of them. Error(kUsage) when T < 700: the two passages need distance.
std::vector<int32_t> with_copied_passage(std::vector<int32_t> window);
double copied_nll(const std::vector<double>& nll);

}  // namespace focus
