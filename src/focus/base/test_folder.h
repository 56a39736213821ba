// For tests: an empty folder of one's own, removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace focus {

class TestFolder {
 public:
  TestFolder() : path_((std::filesystem::temp_directory_path() / "focus-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + path_);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  // Writes (or replaces) a file in it and gives its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    // A new file each time: some file systems flush one that is truncated and written again.
    std::filesystem::remove(at(name));
    std::ofstream file(at(name), std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + at(name));
    return at(name);
  }

 private:
  std::string path_;
};

}  // namespace focus
