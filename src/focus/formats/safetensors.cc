#include "focus/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "focus/base/checked.h"
#include "focus/base/error.h"
#include "focus/base/mapped_file.h"
#include "focus/formats/byte_reader.h"
#include "focus/formats/safetensors_header.h"

namespace focus {
namespace {

// The reference implementation takes no longer headers.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

std::string tensor_subject(const std::string& path, const std::string& name) {
  return path + ": tensor " + in_quotes(name);
}

DType dtype_of(const std::string& subject, const std::string& name) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,
                            DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
    if (dtype_name(dtype) == name) return dtype;
  }
  throw Error(ErrorKind::kUnsupported, subject,
              "dtype F32, F16, BF16, F64, I8, I16, I32, I64, U8 or BOOL", in_quotes(name),
              "save the tensor in one of these");
}

TensorInfo read_tensor(const std::string& path, SafetensorsEntry& entry,
                       std::span<const std::byte> data) {
  const std::string subject = tensor_subject(path, entry.name);
  const DType dtype = dtype_of(subject, entry.dtype);
  const auto [begin, end] = entry.offsets;
  if (begin > end || end > data.size()) {
    throw Error(ErrorKind::kFormat, subject,
                "data_offsets within " + std::to_string(data.size()) + " bytes of data",
                std::to_string(begin) + " to " + std::to_string(end),
                "the file is truncated or damaged: get it again");
  }
  const auto elements = checked_product(entry.shape);
  const auto bytes = elements ? checked_mul(*elements, block_bytes(dtype)) : std::nullopt;
  if (!bytes || static_cast<uint64_t>(*bytes) != end - begin) {
    throw Error(ErrorKind::kFormat, subject,
                bytes ? "the " + std::to_string(*bytes) + " bytes of its shape"
                      : "a shape below 2^63 bytes",
                bytes ? std::to_string(end - begin) : "a larger one",
                "the file is damaged: get it again");
  }
  return {std::move(entry.name), dtype, std::move(entry.shape), data.subspan(begin, end - begin)};
}

// The format wants the data covered exactly: no byte unused, none used twice.
void check_cover(const std::string& path, const std::vector<TensorInfo>& tensors,
                 std::span<const std::byte> data) {
  std::vector<std::span<const std::byte>> parts;
  parts.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) parts.push_back(tensor.bytes);
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.data(), a.size()) < std::tuple(b.data(), b.size());
  });
  const std::byte* covered = data.data();
  const auto fail = [&](const char* found) {
    throw Error(ErrorKind::kFormat, path, "tensors that cover the data without hole or overlap",
                found + std::to_string(covered - data.data()) + " of the data",
                "the file is damaged: get it again");
  };
  for (const auto part : parts) {
    if (part.data() < covered) fail("an overlap before byte ");
    if (part.data() > covered) fail("a hole at byte ");
    covered += part.size();
  }
  if (covered != data.data() + data.size()) fail("unused bytes from byte ");
}

}  // namespace

struct SafetensorsFile::Impl {
  MappedFile file;
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;

  static std::unique_ptr<Impl> open(const std::string& path) {
    MappedFile file(path);
    ByteReader reader(path, file.bytes());
    const auto length = reader.read<uint64_t>("the header's length");
    if (length == 0 || length > kMaxHeaderBytes || length > reader.remaining()) {
      throw Error(ErrorKind::kFormat, path,
                  "a safetensors header of 1 to " +
                      std::to_string(std::min(kMaxHeaderBytes, reader.remaining())) + " bytes",
                  std::to_string(length), "the file is truncated or not safetensors");
    }
    const auto json = reader.take(length, "header");
    SafetensorsHeader header =
        parse_safetensors_header(path, {reinterpret_cast<const char*>(json.data()), json.size()});
    const auto data = reader.take(reader.remaining(), "data");
    std::vector<TensorInfo> tensors;
    tensors.reserve(header.entries.size());
    for (SafetensorsEntry& entry : header.entries) {
      tensors.push_back(read_tensor(path, entry, data));
    }
    check_cover(path, tensors, data);
    std::sort(tensors.begin(), tensors.end(),
              [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
    return std::make_unique<Impl>(
        Impl{std::move(file), std::move(tensors), std::move(header.metadata)});
  }
};

SafetensorsFile::SafetensorsFile(const std::string& path) : impl_(Impl::open(path)) {}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::string& SafetensorsFile::path() const { return impl_->file.path(); }
const std::vector<TensorInfo>& SafetensorsFile::tensors() const { return impl_->tensors; }
const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
  return impl_->metadata;
}

}  // namespace focus
