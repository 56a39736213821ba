// For tests: the files of testdata/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "focus/base/files.h"
#include "focus/base/test_folder.h"
#include "focus/text/tokenizer.h"

namespace focus {

inline std::string test_data_path(const std::string& name) {
  return std::string(FOCUS_SOURCE_DIR) + "/src/focus/text/testdata/" + name;
}

inline nlohmann::json test_data(const std::string& name) {
  return nlohmann::json::parse(read_file(test_data_path(name)));
}

inline Tokenizer tokenizer_of(const nlohmann::json& root) {
  const TestFolder folder;
  return Tokenizer::from_json(folder.write("tokenizer.json", root.dump()));
}

}  // namespace focus
