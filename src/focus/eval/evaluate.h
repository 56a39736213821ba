// The one table: dense, the window and the random groups of equal cost, and the adapter.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "focus/eval/eval_row.h"
#include "focus/nn/adapter.h"
#include "focus/nn/decoder.h"
#include "focus/text/token_windows.h"

namespace focus {

struct EvalOptions {
  int64_t windows = 8;  // of each text, side by side from its start; fewer when a text is shorter
  int64_t copy_windows = 24;  // 0: no copy test
  int64_t far_mass_rows = 64;
  uint64_t seed = 0;
};

struct EvalResult {
  std::vector<EvalRow> rows;  // dense first, the adapter last
  // Of the adapter, empty without one.
  std::vector<std::vector<double>> far_mass_by_head, far_by_head;  // [layers][heads]
  int64_t kept_keys_p99 = 0;  // 99th percentile over (layer, head, query)
  double kept_keys_mean = 0;
  int64_t windows = 0, copy_windows = 0;
};

// Rows: dense alone without an adapter. progress(done, total) counts windows; Error(kState) when
// interrupted.
EvalResult evaluate(const Decoder& decoder, const Adapter* adapter, const TokenWindows& windows,
                    const EvalOptions& options,
                    const std::function<void(int64_t, int64_t)>& progress,
                    const std::atomic<bool>& interrupted);

}  // namespace focus
