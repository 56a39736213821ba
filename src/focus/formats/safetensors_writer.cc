#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "focus/base/checked.h"
#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/formats/safetensors.h"

namespace focus {
namespace {

// So that the data, and with it every tensor, starts aligned.
constexpr size_t kHeaderAlignment = 8;

void check(const std::string& path, const TensorToWrite& tensor) {
  const std::string subject = path + ": tensor " + in_quotes(tensor.name);
  if (tensor.name.empty() || tensor.name == "__metadata__") {
    throw Error(ErrorKind::kUsage, subject, "a name that the format allows",
                in_quotes(tensor.name));
  }
  if (block_elements(tensor.dtype) != 1) {
    throw Error(ErrorKind::kUsage, subject, "a plain dtype", std::string(dtype_name(tensor.dtype)));
  }
  const auto elements = checked_product(tensor.shape);
  const auto bytes = elements ? checked_mul(*elements, block_bytes(tensor.dtype)) : std::nullopt;
  if (bytes != static_cast<int64_t>(tensor.bytes.size())) {
    throw Error(ErrorKind::kUsage, subject, "the bytes of its shape",
                std::to_string(tensor.bytes.size()) + " bytes");
  }
}

std::string header_text(const std::string& path, const std::vector<const TensorToWrite*>& ordered,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const TensorToWrite* tensor : ordered) {
    if (header.contains(tensor->name)) {
      throw Error(ErrorKind::kUsage, path, "each tensor once", in_quotes(tensor->name) + " twice");
    }
    const uint64_t end = at + tensor->bytes.size();
    header[tensor->name] = {{"dtype", std::string(dtype_name(tensor->dtype))},
                            {"shape", tensor->shape},
                            {"data_offsets", {at, end}}};
    at = end;
  }
  try {
    return header.dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kUsage, path, "names and metadata in UTF-8", "other bytes");
  }
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const TensorToWrite*> ordered;
  for (const TensorToWrite& tensor : tensors) {
    check(path, tensor);
    ordered.push_back(&tensor);
  }
  // Wide elements first keeps each tensor aligned to its own element without padding, which the
  // format forbids.
  std::sort(ordered.begin(), ordered.end(), [](const TensorToWrite* a, const TensorToWrite* b) {
    return std::tuple(-block_bytes(a->dtype), std::string_view(a->name)) <
           std::tuple(-block_bytes(b->dtype), std::string_view(b->name));
  });
  std::string text = header_text(path, ordered, metadata);
  text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  const uint64_t length = text.size();
  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(&length, 1)),
                                                   std::as_bytes(std::span(text))};
  for (const TensorToWrite* tensor : ordered) parts.push_back(tensor->bytes);
  write_file_atomically(path, parts);
}

}  // namespace focus
