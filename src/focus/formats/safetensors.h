// safetensors reader and writer (https://github.com/huggingface/safetensors, format section).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "focus/formats/tensor_info.h"

namespace focus {

// One file, memory-mapped. Errors: kNotFound, kFormat (header length 0 or past the end, bad JSON,
// offsets that overlap, leave holes or pass the end, shape product that wraps or disagrees with the
// bytes), kUnsupported (dtype).
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  const std::string& path() const;
  const std::vector<TensorInfo>& tensors() const;  // sorted by name
  const std::map<std::string, std::string>& metadata()
      const;  // __metadata__; non-string values as JSON text

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A tensor to write: `bytes` holds shape's elements of dtype, little-endian.
struct TensorToWrite {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// Writes beside `path` and renames: the file is whole or absent. Same input, same bytes. Error(kIo)
// on failure.
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace focus
