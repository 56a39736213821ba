#include "focus/text/token_windows.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "focus/base/error.h"
#include "focus/base/random.h"
#include "focus/text/text_files.h"

namespace focus {

TokenWindows::TokenWindows(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                           int64_t tokens, int32_t bos, int64_t max_bytes)
    : tokens_(tokens), body_(tokens - (bos >= 0 ? 1 : 0)), bos_(bos) {
  // The smallest files first: what they leave of their share goes to the larger ones.
  std::vector<size_t> by_size(paths.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::ranges::stable_sort(by_size, {}, [&](size_t n) {
    std::error_code no_size;  // of what is no file: read_text refuses it
    return std::filesystem::file_size(paths[n], no_size);
  });
  std::vector<std::vector<int32_t>> texts(paths.size());
  int64_t longest = 0;
  for (size_t n = 0; n < paths.size(); ++n) {
    const size_t file = by_size[n];
    const std::string text =
        read_text(paths[file], max_bytes / static_cast<int64_t>(paths.size() - n)).text;
    max_bytes -= static_cast<int64_t>(text.size());
    texts[file] = tokenizer.encode(text, false);
    longest = std::max(longest, static_cast<int64_t>(texts[file].size()));
  }
  for (auto& ids : texts) {
    if (static_cast<int64_t>(ids.size()) >= body_) texts_.push_back(std::move(ids));
  }
  if (texts_.empty()) {
    throw Error(ErrorKind::kMismatch, paths.empty() ? "text" : paths.front(),
                "at least " + std::to_string(body_) + " tokens in a text", std::to_string(longest),
                "give a longer text or a smaller --tokens");
  }
}

std::vector<int32_t> TokenWindows::window(const std::vector<int32_t>& text, int64_t first) const {
  std::vector<int32_t> out;
  out.reserve(tokens_);
  if (bos_ >= 0) out.push_back(bos_);
  out.insert(out.end(), text.begin() + first, text.begin() + first + body_);
  return out;
}

std::vector<int32_t> TokenWindows::side_by_side(int64_t text, int64_t index) const {
  return window(texts_.at(text), index * body_);
}

std::vector<int32_t> TokenWindows::random(uint64_t seed) const {
  Random random(seed);
  const auto& text = texts_[random.below(static_cast<int64_t>(texts_.size()))];
  return window(text, random.below(static_cast<int64_t>(text.size()) - body_ + 1));
}

int64_t TokenWindows::total() const {
  int64_t total = 0;
  for (const auto& text : texts_) total += static_cast<int64_t>(text.size());
  return total;
}

void copy_passage(std::vector<int32_t>& window, int64_t from, int64_t to, int64_t length) {
  const std::vector<int32_t> passage(window.begin() + from, window.begin() + from + length);
  std::copy(passage.begin(), passage.end(), window.begin() + to);
}

void plant_copy(std::vector<int32_t>& window, uint64_t seed) {
  const int64_t tokens = static_cast<int64_t>(window.size());
  if (tokens < 192) return;
  Random random(seed);
  const int64_t length = 64 + random.below(tokens / 3 - 63);
  const int64_t from = random.below(tokens - 2 * length + 1);
  const int64_t to = from + length + random.below(tokens - from - 2 * length + 1);
  copy_passage(window, from, to, length);
}

}  // namespace focus
