#include "focus/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "focus/base/error.h"
#include "focus/base/mapped_file.h"

namespace focus {
namespace {

namespace fs = std::filesystem;

std::string hint_for(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another folder";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder that you may write to";
    case ENOENT:
    case ENOTDIR:
      return "make its folder first";
    case EINVAL:
    case EISDIR:
      return "name a regular file";
    default:
      return "check the path and the disk";
  }
}

[[noreturn]] void fail_write(const std::string& path, int code) {
  throw Error(ErrorKind::kIo, path, "to write it", std::strerror(code), hint_for(code));
}

// A file under a name of its own beside `path`, removed unless it was committed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path) {
    // Renaming over a device would replace the device itself.
    struct stat old {};
    if (::stat(path.c_str(), &old) == 0 && !S_ISREG(old.st_mode)) {
      fail_write(path_, S_ISDIR(old.st_mode) ? EISDIR : EINVAL);
    }
    static std::atomic<uint64_t> counter{0};
    do {
      name_ = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
      fd_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ < 0) fail_write(path_, errno);
  }
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!committed_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        fail_write(path_, errno);
      }
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  void commit() {
    if (::fsync(fd_) != 0) fail_write(path_, errno);
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) fail_write(path_, errno);
    if (::rename(name_.c_str(), path_.c_str()) != 0) fail_write(path_, errno);
    committed_ = true;
  }

 private:
  std::string path_, name_;
  int fd_ = -1;
  bool committed_ = false;
};

}  // namespace

std::string read_file(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> parts) {
  TemporaryFile file(path);
  for (const auto part : parts) file.write(part);
  file.commit();
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  write_file_atomically(path, std::span<const std::span<const std::byte>>(&bytes, 1));
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

void ensure_directory(const std::string& path) {
  std::error_code code;
  fs::create_directories(path, code);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return;
  const bool in_the_way = !code || code == std::errc::not_a_directory;
  throw Error(ErrorKind::kIo, path, "a folder", in_the_way ? "a file in its way" : code.message(),
              in_the_way ? "choose another name" : hint_for(code.value()));
}

void check_writable_directory(const std::string& path) {
  ensure_directory(path);
  check_writable_file((fs::path(path) / ".focus-probe").string());
}

void check_writable_file(const std::string& path) {
  // Never committed, so the end of this scope removes it.
  TemporaryFile probe(path);
  const std::byte block[4096] = {};
  probe.write(block);
}

}  // namespace focus
