#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace focus {

// Passes text through until a stop string appears, holding back what may be the beginning of one.
class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> stops);

  // Text that is certainly before any stop string. After a stop, stopped() is true and nothing more
  // comes.
  std::string push(std::string_view text);
  // The held-back rest, when the text ends by itself.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace focus
