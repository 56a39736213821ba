// A small seeded generator whose stream is the same on every machine and library (splitmix64).
#pragma once

#include <cmath>
#include <cstdint>

namespace focus {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // Uniform in [0, bound); bound >= 1.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(
        (static_cast<unsigned __int128>(next()) * static_cast<uint64_t>(bound)) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace focus
