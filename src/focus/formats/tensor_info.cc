#include "focus/formats/tensor_info.h"

namespace focus {

int64_t element_count(std::span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

}  // namespace focus
