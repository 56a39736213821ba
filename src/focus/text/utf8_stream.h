#pragma once

#include <string>
#include <string_view>

namespace focus {

// Turns a stream of token bytes into whole UTF-8 characters: bytes of an unfinished character are
// held back until the rest arrives. Invalid bytes become U+FFFD (maximal-subpart rule of the
// Unicode standard, as Hugging Face's decode).
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);  // what can be shown now
  std::string finish();                      // the held-back rest, as U+FFFD where it is not whole

 private:
  std::string held_;
};

}  // namespace focus
