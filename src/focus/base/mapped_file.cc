#include "focus/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "focus/base/error.h"

namespace focus {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail_open(const std::string& path, int code) {
  const bool absent = code == ENOENT || code == ENOTDIR;
  throw Error(absent ? ErrorKind::kNotFound : ErrorKind::kIo, path, "a readable file",
              std::strerror(code), absent ? "check the path" : "check its permissions");
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const Descriptor file(path);
  if (file.get() < 0) fail_open(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_open(path, errno);
  if (S_ISDIR(status.st_mode)) {
    throw Error(ErrorKind::kIo, path, "a file", "a folder", "name a file inside it");
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kIo, path, "a regular file", "a pipe, socket or device",
                "copy its contents into a file first");
  }
  // mmap refuses length 0; an empty file is an empty span.
  if (status.st_size == 0) return;
  const auto size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorKind::kIo, path, "a mapping of " + std::to_string(size) + " bytes",
                std::strerror(errno));
  }
  data_ = static_cast<const std::byte*>(data);
  size_ = size;
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void MappedFile::unmap() noexcept {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace focus
