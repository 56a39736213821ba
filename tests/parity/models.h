// What the parity tests run on: the tiny model of tests/golden in every form, the real one where it
// has been fetched, and a mask of every kind.
#pragma once

#include <string>
#include <vector>

#include "focus/nn/adapter.h"
#include "focus/nn/decoder.h"

namespace focus::testing {

std::string golden(const std::string& name);
// The real model's GGUF file (FOCUS_MODEL_GGUF, or where `make model` puts it); "" when it is
// absent.
std::string real_model();
Decoder load(const std::string& path, ComputeType compute, bool batch_invariant = false);

// Random routers of the given kind over the decoder's layers: what guarantees hold for must hold
// for any weights.
Adapter random_adapter(const Decoder& decoder, const RoutingSpec& spec, const Rule& rule,
                       uint64_t seed);
// Dense, window, and an adapter of every causal routing kind.
std::vector<Mask> every_mask(const Decoder& decoder);

std::vector<int32_t> random_tokens(int64_t count, int64_t vocab, uint64_t seed);

// Logits [n, vocab] of `tokens` after those in the cache, fed in pieces of the given lengths (their
// sum is n).
at::Tensor run(const Decoder& decoder, MaskedAttention& attention,
               const std::vector<int32_t>& tokens, const std::vector<int64_t>& pieces,
               KvCache& cache);

}  // namespace focus::testing
