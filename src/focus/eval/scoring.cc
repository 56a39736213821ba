#include "focus/eval/scoring.h"

#include <ATen/ATen.h>

#include <numeric>
#include <string>

#include "focus/base/error.h"
#include "focus/text/token_windows.h"

namespace focus {
namespace {

constexpr int64_t kLogitRows = 256;

}  // namespace

std::vector<double> token_nll(const Decoder& decoder, const std::vector<int32_t>& tokens,
                              KvCache& cache, const LayerAttention& attention) {
  const int64_t first = cache.length(), count = static_cast<int64_t>(tokens.size());
  const auto hidden = decoder.forward(tokens, cache, attention);
  const auto targets = at::tensor(tokens, at::kInt).to(at::kLong);
  std::vector<double> nll;
  for (int64_t begin = 0; begin + 1 < count; begin += kLogitRows) {
    const int64_t rows = std::min(kLogitRows, count - 1 - begin);
    const auto logits = decoder.logits(hidden.narrow(0, begin, rows), first + begin);
    const auto chosen =
        logits.gather(1, targets.narrow(0, begin + 1, rows).unsqueeze(1)).squeeze(1);
    const auto loss = (at::logsumexp(logits, 1) - chosen).to(at::kDouble).contiguous();
    nll.insert(nll.end(), loss.const_data_ptr<double>(), loss.const_data_ptr<double>() + rows);
  }
  return nll;
}

std::vector<int32_t> with_copied_passage(std::vector<int32_t> window) {
  const int64_t tokens = static_cast<int64_t>(window.size());
  if (tokens < 700) {
    throw Error(ErrorKind::kUsage, "copy test", "windows of at least 700 tokens",
                std::to_string(tokens), "raise --tokens or use --no-copy");
  }
  copy_passage(window, 100, tokens - 324, 200);
  return window;
}

double copied_nll(const std::vector<double>& nll) {
  // Token t has entry t - 1; the last 180 of [T - 324, T - 124).
  const auto end = nll.end() + 1 - 125;
  return std::accumulate(end - 180, end, 0.0) / 180;
}

}  // namespace focus
