#pragma once

#include <chrono>
#include <string>

namespace focus::app {

// One line on stderr: redrawn in place on a terminal, written anew every tenth of the way in a
// pipe.
class Progress {
 public:
  explicit Progress(std::string title);
  ~Progress();
  // note: a few words after the bar (loss, pairs).
  void update(int64_t done, int64_t total, const std::string& note = "");
  // Ends the line.
  void finish();

 private:
  std::string title_;
  bool terminal_, open_ = false;
  int64_t last_tenth_ = -1;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace focus::app
