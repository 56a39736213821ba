#include "models.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstdlib>
#include <filesystem>

#include "focus/base/random.h"

namespace focus::testing {

std::string golden(const std::string& name) {
  return std::string(FOCUS_SOURCE_DIR) + "/tests/golden/" + name;
}

std::string real_model() {
  const char* given = std::getenv("FOCUS_MODEL_GGUF");
  const std::string path =
      given != nullptr ? given : std::string(FOCUS_SOURCE_DIR) + "/out/models/smollm2.gguf";
  return std::filesystem::exists(path) ? path : "";
}

Decoder load(const std::string& path, ComputeType compute, bool batch_invariant) {
  return Decoder(Checkpoint(path), {.compute = compute, .batch_invariant = batch_invariant});
}

Adapter random_adapter(const Decoder& decoder, const RoutingSpec& spec, const Rule& rule,
                       uint64_t seed) {
  at::manual_seed(seed);
  Adapter adapter;
  adapter.base = BaseIdentity::of(decoder, "tokenizer", "weights");
  adapter.spec = spec;
  adapter.rule = rule;
  const RoutingShape& shape = adapter.base.shape;
  const auto side = [&](int64_t routers, int64_t width) {
    return RouterWeights{at::randn({routers, spec.rank, width}),
                         at::randn({routers, spec.groups, spec.rank}),
                         at::randn({routers, spec.groups})};
  };
  for (int64_t n = 0; n < shape.layers; ++n) {
    LayerRouting layer{side(shape.key_routers(spec), shape.key_width(spec)), {}, {}};
    if (!spec.tied) layer.queries = side(shape.query_routers(spec), shape.query_width(spec));
    for (int64_t h = 0; h < shape.query_routers(spec); ++h)
      layer.reads.push_back(static_cast<int32_t>((n + h) % 4));
    adapter.layers.push_back(std::move(layer));
  }
  return adapter;
}

std::vector<Mask> every_mask(const Decoder& decoder) {
  using Spec = RoutingSpec;
  const Rule near{.window = 5, .sinks = 2};
  std::vector<Mask> masks{{"dense", Rule::dense(), nullptr}, {"window", near, nullptr}};
  const auto add = [&](const char* name, Spec spec, const Rule& rule) {
    spec.groups = 8;
    spec.rank = 6;
    masks.push_back(random_adapter(decoder, spec, rule, masks.size()).mask(name));
  };
  add("partition of own keys, reads per head", {}, near);
  add("dense until 20", {}, {.window = 5, .sinks = 2, .dense_until = 20});
  add("model limit 30", {}, {.window = 5, .sinks = 2, .limit = 30});
  add("two groups a key", {.members = 2}, near);
  add("thresholds", {.membership = Spec::Membership::kThreshold}, near);
  add("top-p of the mass", {.read = Spec::Read::kMass}, near);
  add("frozen balance", {.balance = Spec::Balance::kFrozen}, near);
  add("running balance", {.balance = Spec::Balance::kRunning, .balance_rate = 0.3}, near);
  add("running thresholds",
      {.membership = Spec::Membership::kThreshold,
       .balance = Spec::Balance::kRunning,
       .balance_rate = 0.3},
      near);
  add("one router a layer", {.heads = Spec::Heads::kLayer}, near);
  add("the paper's features, tied, a layer",
      {.features = Spec::Features::kInput, .heads = Spec::Heads::kLayer, .tied = true}, near);
  add("the paper's features, separate, per head", {.features = Spec::Features::kInput}, near);
  return masks;
}

std::vector<int32_t> random_tokens(int64_t count, int64_t vocab, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(vocab));
  return tokens;
}

at::Tensor run(const Decoder& decoder, MaskedAttention& attention,
               const std::vector<int32_t>& tokens, const std::vector<int64_t>& pieces,
               KvCache& cache) {
  const at::NoGradGuard frozen;
  std::vector<at::Tensor> logits;
  size_t begin = 0;
  for (int64_t piece : pieces) {
    const int64_t position = cache.length();
    const auto hidden = decoder.forward(
        std::span(tokens).subspan(begin, piece), cache,
        [&](const LayerInputs& inputs, LayerCache& layer) { return attention(inputs, layer); });
    logits.push_back(decoder.logits(hidden, position));
    begin += piece;
  }
  return at::cat(logits);
}

}  // namespace focus::testing
