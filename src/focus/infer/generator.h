#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "focus/infer/sampler.h"
#include "focus/nn/decoder.h"
#include "focus/text/tokenizer.h"

namespace focus {

struct GenerationOptions {
  SamplingOptions sampling;
  int64_t max_tokens = 128;
  std::vector<std::string> stop;  // stop strings: the text ends before the first that appears
  std::vector<int32_t> eos;       // ids that end the text
  int64_t prefill_chunk = 512;
};

enum class FinishReason { kEos, kStop, kLength, kContext, kInterrupted };
std::string_view to_string(FinishReason reason);

struct Generation {
  std::vector<int32_t> ids;  // new tokens, eos left out
  std::string text;
  FinishReason reason = FinishReason::kLength;
  PairCount pairs;  // of prompt and continuation
};

// Continues one prompt. `stream` receives whole UTF-8 pieces as they come. Errors: kUsage (empty
// prompt, prompt longer than the context).
Generation generate(const Decoder& decoder, const Tokenizer& tokenizer, const Mask& mask,
                    const std::vector<int32_t>& prompt, const GenerationOptions& options,
                    const std::function<void(const std::string&)>& stream,
                    const std::atomic<bool>& interrupted);

}  // namespace focus
