#pragma once

#include <memory>
#include <optional>
#include <string>

#include "arguments.h"
#include "focus/formats/checkpoint.h"
#include "focus/nn/adapter.h"
#include "focus/nn/decoder.h"
#include "focus/text/token_windows.h"
#include "focus/text/tokenizer.h"

namespace focus::app {

// The tokenizer that comes with a model: in its GGUF file or its folder.
Tokenizer tokenizer_of(const Checkpoint& checkpoint);
ComputeType compute_type(const std::string& dtype);
std::string_view compute_name(ComputeType compute);

// Everything a command needs of a model. The weights are read by load_weights(), after cheap
// checks.
struct LoadedModel {
  explicit LoadedModel(const ModelArguments& arguments);
  void load_weights(bool batch_invariant = false);
  BaseIdentity identity() const;
  // Windows of the texts, at most 16 MiB of them, with the model's BOS rule. Error(kUsage) when
  // they are longer than its context.
  TokenWindows windows(const TextArguments& text) const;
  // Refuses an adapter of another model (nn/adapter.h); a warning goes to stderr. Needs the
  // weights.
  void check(const Adapter& adapter, bool strict) const;
  std::string bos_rule() const;

  ModelArguments arguments;
  Checkpoint checkpoint;
  Tokenizer tokenizer;
  ComputeType compute;
  std::optional<Decoder> decoder;
};

// The adapter of the arguments, none when they name none.
std::optional<Adapter> adapter_of(const AdapterArguments& arguments);

// Peak resident memory of the process so far, bytes.
int64_t peak_memory();

}  // namespace focus::app
