#include "focus/infer/generator.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "focus/base/error.h"
#include "focus/infer/stop_strings.h"
#include "focus/text/utf8_stream.h"

namespace focus {

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kInterrupted:
      return "interrupted";
  }
  return "";
}

Generation generate(const Decoder& decoder, const Tokenizer& tokenizer, const Mask& mask,
                    const std::vector<int32_t>& prompt, const GenerationOptions& options,
                    const std::function<void(const std::string&)>& stream,
                    const std::atomic<bool>& interrupted) {
  const at::NoGradGuard frozen;
  if (prompt.empty())
    throw Error(ErrorKind::kUsage, "prompt", "at least one token", "none", "give some text");
  const auto runner =
      decoder.options().batch_invariant ? AttentionRunner::kInvariant : AttentionRunner::kAuto;
  MaskedAttention attention(mask, runner);
  auto cache = decoder.new_cache();
  Sampler sampler(options.sampling);
  Utf8Stream characters;
  StopStrings stops(options.stop);
  Generation result;
  const auto emit = [&](const std::string& text) {
    if (text.empty()) return;
    result.text += text;
    if (stream) stream(text);
  };
  const auto run = [&](std::span<const int32_t> tokens) {
    return decoder.forward(tokens, cache, [&](const LayerInputs& inputs, LayerCache& layer) {
      return attention(inputs, layer);
    });
  };
  at::Tensor hidden;
  for (size_t begin = 0; begin < prompt.size() && !interrupted;) {
    const size_t count =
        std::min(prompt.size() - begin, static_cast<size_t>(options.prefill_chunk));
    hidden = run(std::span(prompt).subspan(begin, count));
    begin += count;
  }
  while (static_cast<int64_t>(result.ids.size()) < options.max_tokens) {
    if (interrupted) {
      result.reason = FinishReason::kInterrupted;
      break;
    }
    const auto logits =
        decoder.logits(hidden.slice(0, hidden.size(0) - 1), cache.length() - 1).contiguous();
    const int32_t token =
        sampler.next({logits.const_data_ptr<float>(), static_cast<size_t>(logits.numel())});
    if (std::ranges::find(options.eos, token) != options.eos.end()) {
      result.reason = FinishReason::kEos;
      break;
    }
    result.ids.push_back(token);
    emit(stops.push(characters.push(tokenizer.decode(std::span(&token, 1), true))));
    if (stops.stopped()) {
      result.reason = FinishReason::kStop;
      break;
    }
    if (static_cast<int64_t>(result.ids.size()) == options.max_tokens) break;
    if (cache.length() == decoder.config().context) {
      result.reason = FinishReason::kContext;
      break;
    }
    hidden = run(std::span(&token, 1));
  }
  if (!stops.stopped()) {
    emit(stops.push(characters.finish()));
    emit(stops.finish());
  }
  result.pairs = attention.pairs();
  return result;
}

}  // namespace focus
