#include "focus/base/error.h"

#include <utility>

namespace focus {
namespace {

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string subject, std::string expected, std::string found,
             std::string hint)
    : std::runtime_error(one_line(subject + ": expected " + expected + ", found " + found +
                                  (hint.empty() ? "" : "; " + hint))),
      kind_(kind),
      subject_(std::move(subject)),
      expected_(std::move(expected)),
      found_(std::move(found)),
      hint_(std::move(hint)) {}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, 200)) {
    const auto code = static_cast<unsigned char>(c);
    result.push_back(code < 0x20 || code == 0x7f ? '?' : c);
  }
  if (text.size() > 200) result.append("...");
  result.push_back('\'');
  return result;
}

}  // namespace focus
