// Corpora from disk.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace focus {

struct TextFile {
  std::string path;
  std::string text;  // decompressed; valid UTF-8
};

// Expands each pattern (a path or a glob), sorted and without repeats; the folders that a glob
// matches are left out. Errors: kNotFound (a pattern that matches no file).
std::vector<std::string> expand_patterns(const std::vector<std::string>& patterns);
// A plain or gzip file (by its first bytes; several gzip members follow each other). Errors:
// kNotFound, kIo, kFormat (damaged gzip, not UTF-8: with the byte offset; empty).
// Of a longer text the first max_bytes, up to a whole character; the rest is not looked at.
TextFile read_text(const std::string& path, size_t max_bytes = std::numeric_limits<size_t>::max());

}  // namespace focus
