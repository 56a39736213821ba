// Small JSON files of a model folder, with typed look-ups that name file and key in their errors.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace focus {

class JsonFile {
 public:
  // Reads one object. Errors: kNotFound, kFormat (not JSON, not an object), kUnsupported (more than
  // 8 MiB).
  explicit JsonFile(const std::string& path);

  const std::string& path() const { return path_; }
  // The value, or nullptr where the key is absent or null: the two mean the same in these files.
  const nlohmann::json* find(std::string_view key) const { return find_in(root_, key); }
  static const nlohmann::json* find_in(const nlohmann::json& object, std::string_view key);

  // A required value: kNotFound when absent. All of these: kFormat when of another type.
  int64_t integer(std::string_view key) const;
  int64_t integer_or(std::string_view key, int64_t fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::string string_or(std::string_view key, const std::string& fallback) const;

  // Conversions of a value found under `key`; kFormat when of another type.
  int64_t to_integer(std::string_view key, const nlohmann::json& value) const;
  double to_real(std::string_view key, const nlohmann::json& value) const;
  bool to_boolean(std::string_view key, const nlohmann::json& value) const;
  std::string to_string(std::string_view key, const nlohmann::json& value) const;
  [[noreturn]] void fail_type(std::string_view key, const std::string& wanted,
                              const nlohmann::json& found) const;

 private:
  std::string path_;
  nlohmann::json root_;
};

}  // namespace focus
