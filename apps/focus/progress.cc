#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace focus::app {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// Columns of the terminal; a line that fills them all may wrap.
int64_t columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
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
    // A narrow terminal shortens the bar first, then the end of the text.
    const int64_t room = columns() - 1 - std::ssize(title_) - std::ssize(text) - 4;
    const int64_t width = std::clamp<int64_t>(room, 0, 24),
                  filled = static_cast<int64_t>(share * static_cast<double>(width));
    const std::string line = fmt::format("{} [{}{}] {}", title_, std::string(filled, '='),
                                         std::string(width - filled, ' '), text);
    fmt::print(stderr, "\r\033[K{}", line.substr(0, columns() - 1));
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
