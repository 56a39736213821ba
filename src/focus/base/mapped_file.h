// A whole file, read-only, through mmap.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace focus {

class MappedFile {
 public:
  // Errors: kNotFound when nothing is at `path`; kIo when it is a folder or anything else that is
  // not a regular file, or when the system refuses (its own words are in the text). An empty file
  // gives an empty span.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  // Valid as long as this object (or the one it was moved into) lives.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  void unmap() noexcept;

  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace focus
