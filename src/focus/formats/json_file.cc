#include "focus/formats/json_file.h"

#include <limits>

#include "focus/base/error.h"
#include "focus/base/mapped_file.h"

namespace focus {
namespace {

// A parsed tree takes several times its text; no config or index comes near this.
constexpr size_t kMaxBytes = size_t{8} << 20;

}  // namespace

JsonFile::JsonFile(const std::string& path) : path_(path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  if (bytes.size() > kMaxBytes) {
    throw Error(ErrorKind::kUnsupported, path, "at most " + std::to_string(kMaxBytes) + " bytes",
                std::to_string(bytes.size()));
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  try {
    root_ = nlohmann::json::parse(text, text + bytes.size());
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(ErrorKind::kFormat, path, "JSON", "an error at byte " + std::to_string(error.byte),
                "the file is truncated or damaged: get it again");
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kFormat, path, "JSON", "a number out of range");
  }
  if (!root_.is_object()) {
    throw Error(ErrorKind::kFormat, path, "a JSON object",
                std::string("a JSON ") + root_.type_name());
  }
}

const nlohmann::json* JsonFile::find_in(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

int64_t JsonFile::integer(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) {
    throw Error(ErrorKind::kNotFound, path_, "key " + in_quotes(key), "none");
  }
  return to_integer(key, *value);
}

int64_t JsonFile::integer_or(std::string_view key, int64_t fallback) const {
  const auto* value = find(key);
  return value == nullptr ? fallback : to_integer(key, *value);
}

bool JsonFile::boolean_or(std::string_view key, bool fallback) const {
  const auto* value = find(key);
  return value == nullptr ? fallback : to_boolean(key, *value);
}

std::string JsonFile::string_or(std::string_view key, const std::string& fallback) const {
  const auto* value = find(key);
  return value == nullptr ? fallback : to_string(key, *value);
}

int64_t JsonFile::to_integer(std::string_view key, const nlohmann::json& value) const {
  const bool fits =
      value.is_number_integer() &&
      (!value.is_number_unsigned() ||
       value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (!fits) fail_type(key, "an integer", value);
  return value.get<int64_t>();
}

double JsonFile::to_real(std::string_view key, const nlohmann::json& value) const {
  if (!value.is_number()) fail_type(key, "a number", value);
  return value.get<double>();
}

bool JsonFile::to_boolean(std::string_view key, const nlohmann::json& value) const {
  if (!value.is_boolean()) fail_type(key, "true or false", value);
  return value.get<bool>();
}

std::string JsonFile::to_string(std::string_view key, const nlohmann::json& value) const {
  if (!value.is_string()) fail_type(key, "a string", value);
  return value.get<std::string>();
}

void JsonFile::fail_type(std::string_view key, const std::string& wanted,
                         const nlohmann::json& found) const {
  const bool scalar = found.is_number() || found.is_boolean();
  throw Error(ErrorKind::kFormat, path_ + ": key " + in_quotes(key), wanted,
              scalar ? found.dump() : std::string("a JSON ") + found.type_name());
}

}  // namespace focus
