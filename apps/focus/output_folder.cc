#include "output_folder.h"

#include <unistd.h>

#include "focus/base/error.h"
#include "focus/base/files.h"

namespace focus::app {
namespace fs = std::filesystem;

// Delegating: once MadeFolders() is done, a throw below runs the destructor.
MadeFolders::MadeFolders(const std::string& path) : MadeFolders() {
  std::error_code ignored;
  for (fs::path folder = fs::current_path() / path; !fs::exists(folder, ignored);
       folder = folder.parent_path()) {
    made_.push_back(folder);
  }
  ensure_directory(path);
}

MadeFolders::~MadeFolders() {
  std::error_code in_use;
  for (const auto& folder : made_) fs::remove(folder, in_use);
}

OutputFolder::OutputFolder(const std::string& path)
    : path_(path),
      staging_((fs::path(path) / (".unfinished-" + std::to_string(::getpid()))).string()),
      folders_(path) {}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

void OutputFolder::commit(const std::string& last) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(staging_)) {
    if (entry.path().filename() != last) names.push_back(entry.path().filename().string());
  }
  names.push_back(last);
  for (const auto& name : names) {
    std::error_code code;
    fs::rename(fs::path(staging_) / name, fs::path(path_) / name, code);
    if (code) {
      throw Error(ErrorKind::kIo, (fs::path(path_) / name).string(), "to replace it",
                  code.message(), "choose another folder");
    }
  }
  folders_.keep();
}

void check_output_folder(const std::string& path) {
  const MadeFolders folders(path);
  check_writable_directory(path);
}

void check_output_file(const std::string& path) {
  const MadeFolders folders(parent_folder(path));
  check_writable_file(path);
}

void write_output_file(const std::string& path, const std::string& text) {
  MadeFolders folders(parent_folder(path));
  write_file_atomically(path, text);
  folders.keep();
}

std::string parent_folder(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace focus::app
