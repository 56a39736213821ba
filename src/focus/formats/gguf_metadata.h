// The key/value part of a GGUF file: checked once when the file is opened, decoded when a value is
// asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "focus/formats/byte_reader.h"

namespace focus {

// Value types by their number in the file.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

class GgufMetadata {
 public:
  // Reads `count` pairs and leaves `reader` behind them. Values stay in the file: its bytes must
  // outlive this object. Errors: kFormat (truncated, empty or repeated key, a bool that is neither
  // 0 nor 1, unknown value type), kUnsupported (arrays of arrays).
  GgufMetadata(std::string subject, uint64_t count, ByteReader& reader);

  // See GgufFile for what these accept and throw. Arrays of more than kMaxArray elements are
  // kUnsupported.
  bool has(std::string_view key) const { return values_.find(key) != values_.end(); }
  std::string string(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::vector<std::string> strings(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> reals(std::string_view key) const;
  std::vector<std::string> describe() const;

  static constexpr uint64_t kMaxArray = uint64_t{1} << 22;

 private:
  struct Value {
    GgufType type;  // of the elements for an array
    bool is_array;
    uint64_t count;  // 1 for a scalar
    std::span<const std::byte> bytes;
  };
  static Value read_value(std::string_view subject, std::string_view key, ByteReader& reader);
  const Value& find(std::string_view key) const;
  const Value& find_scalar(std::string_view key, std::string_view wanted) const;
  const Value& find_array(std::string_view key, std::string_view wanted) const;
  [[noreturn]] void fail_type(std::string_view key, std::string_view wanted,
                              const Value& found) const;
  int64_t integer_at(std::string_view key, const Value& value, ByteReader& reader) const;
  double real_at(std::string_view key, const Value& value, ByteReader& reader) const;
  std::string describe_element(const Value& value, ByteReader& reader) const;

  std::string subject_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace focus
