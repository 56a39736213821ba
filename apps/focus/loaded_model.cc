#include "loaded_model.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include "focus/base/error.h"
#include "focus/text/text_files.h"
#include "progress.h"

namespace focus::app {
namespace {

constexpr int64_t kTextBytes = int64_t{16} << 20;

}  // namespace

Tokenizer tokenizer_of(const Checkpoint& checkpoint) {
  if (checkpoint.gguf() != nullptr) return Tokenizer::from_gguf(*checkpoint.gguf());
  return Tokenizer::from_json(checkpoint.path() + "/tokenizer.json");
}

ComputeType compute_type(const std::string& dtype) {
  if (dtype == "auto") return default_compute_type();
  return dtype == "bf16" ? ComputeType::kBF16 : ComputeType::kF32;
}

std::string_view compute_name(ComputeType compute) {
  return compute == ComputeType::kBF16 ? "bf16" : "f32";
}

LoadedModel::LoadedModel(const ModelArguments& given)
    : arguments(given),
      checkpoint(given.model),
      tokenizer(tokenizer_of(checkpoint)),
      compute(compute_type(given.dtype)) {
  if (given.threads > 0) at::set_num_threads(given.threads);
}

void LoadedModel::load_weights(bool batch_invariant) {
  Progress progress("load");
  decoder.emplace(checkpoint,
                  DecoderOptions{.compute = compute, .batch_invariant = batch_invariant},
                  [&](int64_t done, int64_t total) {
                    if (expanded_bytes(checkpoint, compute) > int64_t{1} << 30)
                      progress.update(done, total);
                  });
}

BaseIdentity LoadedModel::identity() const {
  return BaseIdentity::of(*decoder, tokenizer.hash(), checkpoint.sampled_hash());
}

TokenWindows LoadedModel::windows(const TextArguments& text) const {
  const auto& config = checkpoint.config();
  if (text.tokens > config.context) {
    throw Error(ErrorKind::kUsage, "--tokens",
                "at most " + std::to_string(config.context) + " (the model's context)",
                std::to_string(text.tokens));
  }
  return TokenWindows(expand_patterns(text.patterns), tokenizer, text.tokens,
                      config.add_bos && config.bos ? *config.bos : -1, kTextBytes);
}

void LoadedModel::check(const Adapter& adapter, bool strict) const {
  if (const auto warning = check_base(adapter, identity(), strict))
    fmt::print(stderr, "focus: warning: {}\n", *warning);
}

std::string LoadedModel::bos_rule() const {
  const auto& config = checkpoint.config();
  return config.add_bos && config.bos ? fmt::format("each window starts with BOS ({})", *config.bos)
                                      : "no BOS";
}

std::optional<Adapter> adapter_of(const AdapterArguments& arguments) {
  if (arguments.folder.empty()) return std::nullopt;
  return load_adapter(arguments.folder);
}

int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) << 10;
}

}  // namespace focus::app
