#include "focus/text/text_files.h"

#include <glob.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>

#include "focus/base/error.h"
#include "focus/base/mapped_file.h"
#include "focus/text/utf8.h"

namespace focus {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

std::vector<std::string> expand(const std::string& pattern) {
  // A name with brackets in it may be just that.
  if (is_file(pattern)) return {pattern};
  glob_t found{};
  const int rc = glob(pattern.c_str(), 0, nullptr, &found);
  const std::unique_ptr<glob_t, decltype(&globfree)> owner(&found, globfree);
  std::vector<std::string> paths;
  if (rc == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      if (is_file(found.gl_pathv[i])) paths.emplace_back(found.gl_pathv[i]);
    }
  } else if (rc != GLOB_NOMATCH) {
    throw Error(ErrorKind::kIo, pattern, "a pattern to expand",
                rc == GLOB_NOSPACE ? "not enough memory" : "an unreadable folder");
  }
  if (paths.empty()) {
    std::error_code ignored;
    const bool folder = fs::is_directory(pattern, ignored);
    throw Error(ErrorKind::kNotFound, pattern, "at least one file",
                folder ? "a folder" : "no match",
                folder ? "add the names, as in '" + pattern + "/*.txt'" : "check the path");
  }
  return paths;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1F\x8B"; }

[[noreturn]] void fail_gzip(const std::string& path, const std::string& found) {
  throw Error(ErrorKind::kFormat, path, "a whole gzip file", found);
}

std::string inflate_members(std::string_view packed, const std::string& path, size_t max_bytes) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, inflateEnd);

  std::string text;
  std::string chunk(1 << 18, '\0');
  size_t given = 0;  // bytes of `packed` handed to zlib so far
  while (true) {
    if (stream.avail_in == 0) {
      const size_t most = std::numeric_limits<uInt>::max();
      stream.avail_in = static_cast<uInt>(std::min(packed.size() - given, most));
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + given));
      given += stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int rc = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk, 0, chunk.size() - stream.avail_out);
    if (text.size() >= max_bytes) return text;
    const size_t at = given - stream.avail_in;
    if (rc == Z_STREAM_END) {
      if (at == packed.size()) return text;
      if (!is_gzip(std::string_view(packed).substr(at))) {
        fail_gzip(path, "other bytes behind it, at byte offset " + std::to_string(at));
      }
      inflateReset(&stream);
    } else if (rc == Z_BUF_ERROR && at == packed.size()) {
      fail_gzip(path, "an end inside the data");
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
      fail_gzip(path, std::string(stream.msg == nullptr ? "damage" : stream.msg) +
                          " at byte offset " + std::to_string(at));
    }
  }
}

}  // namespace

std::vector<std::string> expand_patterns(const std::vector<std::string>& patterns) {
  // The key is where a path leads, so that "a.txt" and "./a.txt" are one file.
  std::map<std::string, std::string> by_place;
  for (const std::string& pattern : patterns) {
    for (const std::string& path : expand(pattern)) {
      std::error_code error;
      const fs::path place = fs::canonical(path, error);
      by_place.emplace(error ? path : place.string(), path);
    }
  }
  std::vector<std::string> paths;
  for (const auto& [place, path] : by_place) paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

TextFile read_text(const std::string& path, size_t max_bytes) {
  // Mapped, so that no more of the file is read than is used.
  const MappedFile mapped(path);
  const std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()),
                               mapped.bytes().size());
  // One byte more than wanted tells whether a character is cut.
  const size_t most = max_bytes == std::numeric_limits<size_t>::max() ? max_bytes : max_bytes + 1;
  TextFile file{path, is_gzip(bytes) ? inflate_members(bytes, path, most)
                                     : std::string(bytes.substr(0, most))};
  if (file.text.size() > max_bytes) {
    size_t end = max_bytes;
    while (end > 0 && is_continuation(file.text[end])) --end;
    file.text.resize(end);
  }
  if (file.text.empty()) throw Error(ErrorKind::kFormat, path, "text", "an empty file");
  if (const size_t at = find_invalid_utf8(file.text); at != std::string_view::npos) {
    throw Error(ErrorKind::kFormat, path, "UTF-8 text (plain or gzip)",
                "other bytes at byte offset " + std::to_string(at), "convert it, e.g. with iconv");
  }
  return file;
}

}  // namespace focus
