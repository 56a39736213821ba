#include "focus/formats/gguf_metadata.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "focus/base/checked.h"
#include "focus/base/error.h"

namespace focus {
namespace {

// The format allows no longer keys.
constexpr size_t kMaxKeyBytes = 65535;
// Of a description line: enough to recognise a value by.
constexpr size_t kShownBytes = 60;
constexpr uint64_t kShownElements = 4;

struct TypeFacts {
  std::string_view name;
  uint64_t bytes;  // 0: not of fixed size
};
constexpr std::array<TypeFacts, 13> kTypes = {{{"uint8", 1},
                                               {"int8", 1},
                                               {"uint16", 2},
                                               {"int16", 2},
                                               {"uint32", 4},
                                               {"int32", 4},
                                               {"float32", 4},
                                               {"bool", 1},
                                               {"string", 0},
                                               {"array", 0},
                                               {"uint64", 8},
                                               {"int64", 8},
                                               {"float64", 8}}};

const TypeFacts& facts(GgufType type) { return kTypes.at(static_cast<size_t>(type)); }

std::string key_subject(std::string_view file, std::string_view key) {
  return std::string(file) + ": key " + in_quotes(key);
}

GgufType read_type(std::string_view file, std::string_view key, ByteReader& reader) {
  const auto number = reader.read<uint32_t>("a value type");
  if (number >= kTypes.size()) {
    throw Error(ErrorKind::kFormat, key_subject(file, key), "a value type from 0 to 12",
                std::to_string(number), "the file is damaged: get it again");
  }
  return static_cast<GgufType>(number);
}

std::string shorten(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, kShownBytes)) {
    line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  // A cut inside a UTF-8 sequence would print as a stray byte.
  if (text.size() > kShownBytes) {
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) {
      line.pop_back();
    }
    if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xc0) line.pop_back();
    line += "...";
  }
  return line;
}

}  // namespace

GgufMetadata::GgufMetadata(std::string subject, uint64_t count, ByteReader& reader)
    : subject_(std::move(subject)) {
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view key = reader.read_string("a metadata key");
    if (key.empty() || key.size() > kMaxKeyBytes) {
      throw Error(ErrorKind::kFormat, subject_, "metadata keys of 1 to 65535 bytes",
                  "one of " + std::to_string(key.size()), "the file is damaged: get it again");
    }
    const Value value = read_value(subject_, key, reader);
    if (!values_.emplace(key, value).second) {
      throw Error(ErrorKind::kFormat, key_subject(subject_, key), "each key once", "it twice");
    }
  }
}

GgufMetadata::Value GgufMetadata::read_value(std::string_view subject, std::string_view key,
                                             ByteReader& reader) {
  Value value{read_type(subject, key, reader), false, 1, {}};
  if (value.type == GgufType::kArray) {
    value.is_array = true;
    value.type = read_type(subject, key, reader);
    value.count = reader.read<uint64_t>("an array length");
    if (value.type == GgufType::kArray) {
      throw Error(ErrorKind::kUnsupported, key_subject(subject, key), "an array of plain values",
                  "an array of arrays");
    }
  }
  if (value.type == GgufType::kString) {
    ByteReader start = reader;
    // Each string takes at least the 8 bytes of its length, so a false count ends with the file.
    for (uint64_t i = 0; i < value.count; ++i) reader.read_string("a metadata string");
    value.bytes = start.take(reader.position() - start.position(), "a metadata value");
    return value;
  }
  const auto size = checked_mul(value.count, facts(value.type).bytes);
  value.bytes =
      reader.take(size.value_or(std::numeric_limits<uint64_t>::max()), "a metadata value");
  if (value.type == GgufType::kBool && std::any_of(value.bytes.begin(), value.bytes.end(),
                                                   [](std::byte b) { return b > std::byte{1}; })) {
    throw Error(ErrorKind::kFormat, key_subject(subject, key), "bools of 0 or 1", "another value",
                "the file is damaged: get it again");
  }
  return value;
}

const GgufMetadata::Value& GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    throw Error(ErrorKind::kNotFound, subject_, "metadata key " + in_quotes(key), "none",
                "convert the model again with a current converter");
  }
  return found->second;
}

const GgufMetadata::Value& GgufMetadata::find_scalar(std::string_view key,
                                                     std::string_view wanted) const {
  const Value& value = find(key);
  if (value.is_array) fail_type(key, wanted, value);
  return value;
}

const GgufMetadata::Value& GgufMetadata::find_array(std::string_view key,
                                                    std::string_view wanted) const {
  const Value& value = find(key);
  if (!value.is_array) fail_type(key, wanted, value);
  if (value.count > kMaxArray) {
    throw Error(ErrorKind::kUnsupported, key_subject(subject_, key),
                "at most " + std::to_string(kMaxArray) + " elements", std::to_string(value.count));
  }
  return value;
}

void GgufMetadata::fail_type(std::string_view key, std::string_view wanted,
                             const Value& found) const {
  throw Error(ErrorKind::kFormat, key_subject(subject_, key), std::string(wanted),
              (found.is_array ? "an array of " : "") + std::string(facts(found.type).name));
}

int64_t GgufMetadata::integer_at(std::string_view key, const Value& value,
                                 ByteReader& reader) const {
  switch (value.type) {
    case GgufType::kUint8:
    case GgufType::kBool:
      return reader.read<uint8_t>(key);
    case GgufType::kInt8:
      return reader.read<int8_t>(key);
    case GgufType::kUint16:
      return reader.read<uint16_t>(key);
    case GgufType::kInt16:
      return reader.read<int16_t>(key);
    case GgufType::kUint32:
      return reader.read<uint32_t>(key);
    case GgufType::kInt32:
      return reader.read<int32_t>(key);
    case GgufType::kInt64:
      return reader.read<int64_t>(key);
    case GgufType::kUint64: {
      const auto number = reader.read<uint64_t>(key);
      if (number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return static_cast<int64_t>(number);
      }
      throw Error(ErrorKind::kFormat, key_subject(subject_, key), "an integer below 2^63",
                  std::to_string(number));
    }
    default:
      fail_type(key, "an integer", value);
  }
}

double GgufMetadata::real_at(std::string_view key, const Value& value, ByteReader& reader) const {
  if (value.type == GgufType::kFloat32) return reader.read<float>(key);
  if (value.type == GgufType::kFloat64) return reader.read<double>(key);
  fail_type(key, "a real number", value);
}

std::string GgufMetadata::string(std::string_view key) const {
  const Value& value = find_scalar(key, "a string");
  if (value.type != GgufType::kString) fail_type(key, "a string", value);
  ByteReader reader(subject_, value.bytes);
  return std::string(reader.read_string(key));
}

int64_t GgufMetadata::integer(std::string_view key) const {
  const Value& value = find_scalar(key, "an integer");
  ByteReader reader(subject_, value.bytes);
  return integer_at(key, value, reader);
}

double GgufMetadata::real(std::string_view key) const {
  const Value& value = find_scalar(key, "a real number");
  ByteReader reader(subject_, value.bytes);
  return real_at(key, value, reader);
}

bool GgufMetadata::boolean(std::string_view key) const {
  const Value& value = find_scalar(key, "a bool");
  if (value.type != GgufType::kBool) fail_type(key, "a bool", value);
  return value.bytes[0] != std::byte{0};
}

std::vector<std::string> GgufMetadata::strings(std::string_view key) const {
  const Value& value = find_array(key, "an array of strings");
  if (value.type != GgufType::kString) fail_type(key, "an array of strings", value);
  ByteReader reader(subject_, value.bytes);
  std::vector<std::string> all(value.count);
  for (std::string& text : all) text = reader.read_string(key);
  return all;
}

std::vector<int64_t> GgufMetadata::integers(std::string_view key) const {
  const Value& value = find_array(key, "an array of integers");
  ByteReader reader(subject_, value.bytes);
  std::vector<int64_t> all(value.count);
  for (int64_t& number : all) number = integer_at(key, value, reader);
  return all;
}

std::vector<double> GgufMetadata::reals(std::string_view key) const {
  const Value& value = find_array(key, "an array of real numbers");
  ByteReader reader(subject_, value.bytes);
  std::vector<double> all(value.count);
  for (double& number : all) number = real_at(key, value, reader);
  return all;
}

std::string GgufMetadata::describe_element(const Value& value, ByteReader& reader) const {
  switch (value.type) {
    case GgufType::kString:
      return std::string("'").append(shorten(reader.read_string("a string"))).append("'");
    case GgufType::kBool:
      return reader.read<uint8_t>("a bool") != 0 ? "true" : "false";
    case GgufType::kUint64:
      return std::to_string(reader.read<uint64_t>("a number"));
    case GgufType::kFloat32:
    case GgufType::kFloat64: {
      char text[40];
      std::snprintf(text, sizeof(text), "%.7g", real_at("", value, reader));
      return text;
    }
    default:
      return std::to_string(integer_at("", value, reader));
  }
}

std::vector<std::string> GgufMetadata::describe() const {
  std::vector<std::string> lines;
  lines.reserve(values_.size());
  for (const auto& [key, value] : values_) {
    ByteReader reader(subject_, value.bytes);
    std::string line = shorten(key) + " = ";
    if (value.is_array) {
      line += std::to_string(value.count) + " x " + std::string(facts(value.type).name) + " [";
    }
    const uint64_t shown = std::min(value.count, kShownElements);
    for (uint64_t i = 0; i < shown; ++i) {
      line += (i > 0 ? ", " : "") + describe_element(value, reader);
    }
    if (shown < value.count) line += ", ...";
    if (value.is_array) line += "]";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace focus
