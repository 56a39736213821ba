#include "focus/base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "focus/base/error.h"

namespace focus {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

int64_t system_available() {
  std::ifstream file("/proc/meminfo");
  std::string key, rest;
  for (int64_t kib = 0; file >> key >> kib; std::getline(file, rest)) {
    if (key == "MemAvailable:") return kib << 10;
  }
  return kUnknown;
}

int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : kUnknown;  // "max" is no number: no limit
}

int64_t group_available() {
  const std::string folder = "/sys/fs/cgroup/";
  const int64_t limit = number_in(folder + "memory.max"),
                used = number_in(folder + "memory.current");
  return limit == kUnknown || used == kUnknown ? kUnknown : std::max<int64_t>(0, limit - used);
}

std::string mebibytes(int64_t bytes) {
  return std::to_string((bytes >> 20) + (bytes % (1 << 20) != 0 ? 1 : 0)) + " MiB";
}

}  // namespace

int64_t available_memory() { return std::min(system_available(), group_available()); }

void check_fits(const std::string& subject, int64_t needed, int64_t available) {
  if (needed <= available) return;
  throw Error(ErrorKind::kMemory, subject,
              mebibytes(needed) + " of free memory for the expanded weights", mebibytes(available),
              "use --dtype bf16 or a machine with more memory");
}

}  // namespace focus
