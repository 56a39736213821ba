// The one exception type of the library. Libraries throw it and stay silent; only the apps catch
// and print.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace focus {

enum class ErrorKind {
  kNotFound,     // a file, folder, key or tensor is absent
  kFormat,       // the bytes of a file are not what its format says
  kUnsupported,  // well formed, but of a kind that this build does not handle
  kMismatch,     // two things that must agree do not (adapter and base, shape and config)
  kUsage,        // a bad argument of the caller
  kIo,           // the system refused a read or a write
  kMemory,       // it will not fit
  kNumeric,      // NaN or infinity where a number is needed
  kState,        // called too early or too late
};

// Its text is one line: "<subject>: expected <expected>, found <found>; <hint>".
class Error : public std::runtime_error {
 public:
  // subject: what the error is about (a path, an option, a tensor); hint: what to do, may be empty.
  Error(ErrorKind kind, std::string subject, std::string expected, std::string found,
        std::string hint = "");

  ErrorKind kind() const { return kind_; }
  const std::string& subject() const { return subject_; }
  const std::string& expected() const { return expected_; }
  const std::string& found() const { return found_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string subject_, expected_, found_, hint_;
};

// 'text' in quotes for an error, cut after 200 bytes and with '?' for control characters: it may
// come from a damaged file.
std::string in_quotes(std::string_view text);

}  // namespace focus
