// Where a run leaves its files: all of them or none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace focus::app {

// Makes a folder and its parents, and removes those it made again unless they are kept or in use.
class MadeFolders {
 public:
  // Error(kIo).
  explicit MadeFolders(const std::string& path);
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  void keep() { made_.clear(); }

 private:
  MadeFolders() = default;
  std::vector<std::filesystem::path> made_;  // innermost first
};

// Collects the files of a run beside their final place. Without commit() the folder is as it was.
class OutputFolder {
 public:
  // Error(kIo).
  explicit OutputFolder(const std::string& path);
  ~OutputFolder();
  // A folder to write into.
  const std::string& staging() const { return staging_; }
  // Moves the files into place, `last` after all others. Error(kIo).
  void commit(const std::string& last);

 private:
  std::string path_, staging_;
  MadeFolders folders_;
};

// For the start of long work: prove that output can go there, and leave nothing. Error(kIo).
void check_output_folder(const std::string& path);
void check_output_file(const std::string& path);

// write_file_atomically (base/files.h) that makes the missing folders above `path`.
void write_output_file(const std::string& path, const std::string& text);

// The folder that holds `path`.
std::string parent_folder(const std::string& path);

}  // namespace focus::app
