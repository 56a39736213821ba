#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace focus::app {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::string title)
    : title_(std::move(title)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { finish(); }

void Progress::update(int64_t done, int64_t total, const std::string& note) {
  const double used =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const std::string left =
      share > 0 && done < total ? ", " + clock_text(used / share - used) + " left" : "";
  const std::string text = fmt::format("{}/{} {}{}{}{}", done, total, clock_text(used), left,
                                       note.empty() ? "" : "  ", note);
  if (terminal_) {
    constexpr int kWidth = 24;
    const int filled = static_cast<int>(share * kWidth);
    fmt::print(stderr, "\r\033[K{} [{}{}] {}", title_, std::string(filled, '='),
               std::string(kWidth - filled, ' '), text);
    open_ = true;
  } else if (const auto tenth = static_cast<int64_t>(share * 10); tenth != last_tenth_) {
    last_tenth_ = tenth;
    fmt::print(stderr, "{}: {}\n", title_, text);
  }
  std::fflush(stderr);
}

void Progress::finish() {
  if (!open_) return;
  fmt::print(stderr, "\n");
  open_ = false;
}

}  // namespace focus::app
