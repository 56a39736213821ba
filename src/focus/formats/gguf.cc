#include "focus/formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "focus/base/checked.h"
#include "focus/base/error.h"
#include "focus/base/mapped_file.h"
#include "focus/formats/byte_reader.h"
#include "focus/formats/gguf_metadata.h"

namespace focus {
namespace {

constexpr std::string_view kDamaged = "the file is truncated or damaged: get it again";
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kDefaultAlignment = 32;
// Far above any model, and it bounds what the tables may take in memory.
constexpr uint64_t kMaxEntries = uint64_t{1} << 20;
// The smallest entries that the format can express.
constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;

// ggml's numbers for the types that this reader knows.
std::optional<DType> dtype_of(uint32_t type) {
  switch (type) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 2:
      return DType::kQ4_0;
    case 3:
      return DType::kQ4_1;
    case 6:
      return DType::kQ5_0;
    case 7:
      return DType::kQ5_1;
    case 8:
      return DType::kQ8_0;
    case 12:
      return DType::kQ4_K;
    case 13:
      return DType::kQ5_K;
    case 14:
      return DType::kQ6_K;
    case 24:
      return DType::kI8;
    case 25:
      return DType::kI16;
    case 26:
      return DType::kI32;
    case 27:
      return DType::kI64;
    case 28:
      return DType::kF64;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

// A tensor of the table, before its bytes are known to lie in the file.
struct Entry {
  TensorInfo info;
  uint64_t offset;  // from the start of the data
  uint64_t bytes;
};

std::string tensor_subject(std::string_view path, std::string_view name) {
  return std::string(path) + ": tensor " + in_quotes(name);
}

uint64_t read_count(const std::string& path, ByteReader& reader, std::string_view what,
                    uint64_t min_bytes) {
  const auto count = reader.read<uint64_t>(what);
  const uint64_t possible = std::min(kMaxEntries, reader.remaining() / min_bytes);
  if (count > possible) {
    throw Error(ErrorKind::kFormat, path,
                "a number of " + std::string(what) + " that the file can hold (at most " +
                    std::to_string(possible) + ")",
                std::to_string(count), std::string(kDamaged));
  }
  return count;
}

std::vector<int64_t> read_shape(const std::string& subject, ByteReader& reader) {
  const auto dims = reader.read<uint32_t>("a tensor's rank");
  if (dims > kMaxDims) {
    throw Error(ErrorKind::kFormat, subject, "at most 4 dimensions", std::to_string(dims),
                std::string(kDamaged));
  }
  std::vector<int64_t> shape(dims);
  // The file gives the innermost extent first.
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    const auto number = reader.read<uint64_t>("a tensor's extent");
    if (number == 0 || number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw Error(ErrorKind::kFormat, subject, "extents from 1 to 2^63 - 1", std::to_string(number),
                  std::string(kDamaged));
    }
    *extent = static_cast<int64_t>(number);
  }
  return shape;
}

DType read_dtype(const std::string& subject, ByteReader& reader) {
  const auto number = reader.read<uint32_t>("a tensor's type");
  const auto dtype = dtype_of(number);
  if (!dtype) {
    throw Error(ErrorKind::kUnsupported, subject,
                "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K",
                "ggml type " + std::to_string(number), "use another quantisation of the model");
  }
  return *dtype;
}

uint64_t stored_bytes(const std::string& subject, DType dtype, const std::vector<int64_t>& shape) {
  const int64_t row = shape.empty() ? 1 : shape.back();
  if (row % block_elements(dtype) != 0) {
    throw Error(ErrorKind::kFormat, subject,
                "rows of whole blocks of " + std::to_string(block_elements(dtype)) +
                    " elements for " + std::string(dtype_name(dtype)),
                "rows of " + std::to_string(row));
  }
  const auto elements = checked_product(shape);
  const auto bytes =
      elements ? checked_mul(*elements / block_elements(dtype), block_bytes(dtype)) : std::nullopt;
  if (!bytes) {
    throw Error(ErrorKind::kFormat, subject, "a size below 2^63 bytes", "extents that exceed it",
                std::string(kDamaged));
  }
  return static_cast<uint64_t>(*bytes);
}

Entry read_entry(const std::string& path, uint64_t alignment, ByteReader& reader) {
  const std::string_view name = reader.read_string("a tensor name");
  const std::string subject = tensor_subject(path, name);
  if (name.empty()) {
    throw Error(ErrorKind::kFormat, path, "a name for each tensor", "an empty one",
                std::string(kDamaged));
  }
  Entry entry{{std::string(name), DType::kF32, read_shape(subject, reader), {}}, 0, 0};
  entry.info.dtype = read_dtype(subject, reader);
  entry.bytes = stored_bytes(subject, entry.info.dtype, entry.info.shape);
  entry.offset = reader.read<uint64_t>("a tensor's offset");
  if (entry.offset % alignment != 0) {
    throw Error(ErrorKind::kFormat, subject,
                "an offset that is a multiple of " + std::to_string(alignment),
                std::to_string(entry.offset), std::string(kDamaged));
  }
  return entry;
}

uint64_t read_alignment(const std::string& path, const GgufMetadata& metadata) {
  if (!metadata.has("general.alignment")) return kDefaultAlignment;
  const int64_t alignment = metadata.integer("general.alignment");
  if (alignment <= 0 || alignment > std::numeric_limits<uint32_t>::max() ||
      !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    throw Error(ErrorKind::kFormat, path, "a power of two as general.alignment",
                std::to_string(alignment), std::string(kDamaged));
  }
  return static_cast<uint64_t>(alignment);
}

void check_header(const std::string& path, ByteReader& reader) {
  if (std::memcmp(reader.take(4, "magic").data(), "GGUF", 4) != 0) {
    throw Error(ErrorKind::kFormat, path, "a GGUF file (first bytes 'GGUF')", "other bytes",
                "give a GGUF file or a Hugging Face folder");
  }
  const auto version = reader.read<uint32_t>("the version");
  if ((version & 0xffff) == 0 && version != 0) {
    throw Error(ErrorKind::kUnsupported, path, "a little-endian GGUF file", "a big-endian one",
                "convert the model for this kind of machine");
  }
  if (version != 2 && version != 3) {
    throw Error(ErrorKind::kUnsupported, path, "GGUF version 2 or 3", std::to_string(version),
                "convert the model again with a current converter");
  }
}

// Gives each tensor its bytes, and refuses any that leave the file or share bytes.
void place(const std::string& path, std::span<const std::byte> file, uint64_t data_start,
           std::vector<Entry>& entries) {
  const uint64_t data_bytes = data_start <= file.size() ? file.size() - data_start : 0;
  for (Entry& entry : entries) {
    if (entry.offset > data_bytes || entry.bytes > data_bytes - entry.offset) {
      throw Error(ErrorKind::kFormat, tensor_subject(path, entry.info.name),
                  std::to_string(entry.bytes) + " bytes at offset " + std::to_string(entry.offset) +
                      " of the data",
                  std::to_string(data_bytes) + " bytes of data", std::string(kDamaged));
    }
    entry.info.bytes = file.subspan(data_start + entry.offset, entry.bytes);
  }
  std::vector<const Entry*> by_offset;
  by_offset.reserve(entries.size());
  for (const Entry& entry : entries) by_offset.push_back(&entry);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const Entry* a, const Entry* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const Entry &before = *by_offset[i - 1], &after = *by_offset[i];
    if (before.offset + before.bytes > after.offset) {
      throw Error(ErrorKind::kFormat, tensor_subject(path, after.info.name), "bytes of its own",
                  "bytes shared with " + in_quotes(before.info.name), std::string(kDamaged));
    }
  }
}

}  // namespace

struct GgufFile::Impl {
  MappedFile file;
  GgufMetadata metadata;
  std::vector<TensorInfo> tensors;

  static std::unique_ptr<Impl> open(const std::string& path) {
    MappedFile file(path);
    ByteReader reader(path, file.bytes());
    check_header(path, reader);
    const uint64_t tensor_count = read_count(path, reader, "tensors", kMinTensorBytes);
    const uint64_t pair_count = read_count(path, reader, "metadata keys", kMinPairBytes);
    GgufMetadata metadata(path, pair_count, reader);
    const uint64_t alignment = read_alignment(path, metadata);
    std::vector<Entry> entries;
    entries.reserve(tensor_count);
    std::set<std::string_view> names;
    for (uint64_t i = 0; i < tensor_count; ++i) {
      entries.push_back(read_entry(path, alignment, reader));
    }
    for (const Entry& entry : entries) {
      if (!names.insert(entry.info.name).second) {
        throw Error(ErrorKind::kFormat, tensor_subject(path, entry.info.name), "each tensor once",
                    "it twice");
      }
    }
    const uint64_t data_start = (reader.position() + alignment - 1) / alignment * alignment;
    place(path, file.bytes(), data_start, entries);
    std::vector<TensorInfo> tensors;
    tensors.reserve(entries.size());
    for (Entry& entry : entries) tensors.push_back(std::move(entry.info));
    return std::make_unique<Impl>(Impl{std::move(file), std::move(metadata), std::move(tensors)});
  }
};

GgufFile::GgufFile(const std::string& path) : impl_(Impl::open(path)) {}
GgufFile::~GgufFile() = default;
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;

const std::string& GgufFile::path() const { return impl_->file.path(); }
bool GgufFile::has(std::string_view key) const { return impl_->metadata.has(key); }
std::string GgufFile::string(std::string_view key) const { return impl_->metadata.string(key); }
int64_t GgufFile::integer(std::string_view key) const { return impl_->metadata.integer(key); }
double GgufFile::real(std::string_view key) const { return impl_->metadata.real(key); }
bool GgufFile::boolean(std::string_view key) const { return impl_->metadata.boolean(key); }
std::vector<std::string> GgufFile::strings(std::string_view key) const {
  return impl_->metadata.strings(key);
}
std::vector<int64_t> GgufFile::integers(std::string_view key) const {
  return impl_->metadata.integers(key);
}
std::vector<double> GgufFile::reals(std::string_view key) const {
  return impl_->metadata.reals(key);
}
std::vector<std::string> GgufFile::describe_metadata() const { return impl_->metadata.describe(); }
const std::vector<TensorInfo>& GgufFile::tensors() const { return impl_->tensors; }

}  // namespace focus
