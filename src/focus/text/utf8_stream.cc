#include "focus/text/utf8_stream.h"

#include "focus/text/utf8.h"

namespace focus {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  held_.append(bytes);
  std::string shown;
  size_t at = 0;
  while (at < held_.size()) {
    const Utf8Unit unit = utf8_unit(held_, at);
    if (unit.state == Utf8State::kTruncated) break;
    if (unit.state == Utf8State::kWhole) {
      shown.append(held_, at, unit.length);
    } else {
      shown.append(kReplacement);
    }
    at += unit.length;
  }
  held_.erase(0, at);
  return shown;
}

std::string Utf8Stream::finish() {
  // What is held is one unfinished character: a single maximal subpart.
  const bool whole = held_.empty();
  held_.clear();
  return whole ? std::string() : std::string(kReplacement);
}

}  // namespace focus
