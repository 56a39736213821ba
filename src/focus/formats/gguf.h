// GGUF v2/v3 reader: metadata and tensors of one memory-mapped file. Nothing in the file is
// trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "focus/formats/tensor_info.h"

namespace focus {

class GgufFile {
 public:
  // Errors: kNotFound, kFormat (wrong magic, truncated, overlapping or misaligned tensors, sizes
  // that wrap), kUnsupported (version, big-endian, unknown tensor type: named with the tensor).
  explicit GgufFile(const std::string& path);
  ~GgufFile();
  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;

  const std::string& path() const;
  bool has(std::string_view key) const;
  // Typed metadata. Absent key: Error(kNotFound); another type: Error(kFormat). Integers of any
  // width and signedness that fit in int64, and bools, are read by integer(); reals by real().
  std::string string(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::vector<std::string> strings(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> reals(std::string_view key) const;
  // One line a key, arrays shortened: what `focus info` prints.
  std::vector<std::string> describe_metadata() const;

  // Tensors in file order; shapes are row-major (outermost first: GGUF's order reversed).
  const std::vector<TensorInfo>& tensors() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace focus
