// The JSON header of a safetensors file, read event by event: memory stays in proportion to the
// header, whatever it says.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace focus {

struct SafetensorsEntry {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::array<uint64_t, 2> offsets{};  // begin and end, from the start of the data
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in file order, names unique
  std::map<std::string, std::string> metadata;
};

// `path` is for errors: kFormat (not JSON, or not of the form {name: {dtype, shape,
// data_offsets}}).
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json);

}  // namespace focus
