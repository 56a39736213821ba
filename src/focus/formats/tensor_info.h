#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "focus/formats/dtype.h"

namespace focus {

// Product of the extents, 1 for a scalar. Unchecked: a shape from a file goes through
// checked_product first.
int64_t element_count(std::span<const int64_t> shape);

// One tensor of an open file. `bytes` points into the mapping and lives as long as the file object.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // row-major, outermost first
  std::span<const std::byte> bytes;
  int64_t elements() const { return element_count(shape); }  // checked when the file was opened
};

}  // namespace focus
