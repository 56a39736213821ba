// What one core can do at best: the yardstick beside measured kernels.
#pragma once

#include <cstdint>

namespace focus {

struct ProbeResult {
  int64_t operations = 0;  // fp32 operations done; a fused multiply-add is two
  float sum = 0;           // of the registers: a result, so that the work cannot be left out
};

// `steps` rounds of independent fused multiply-adds on registers of the widest vectors that the CPU
// has, no memory touched.
ProbeResult fma_probe(int64_t steps);

// The instruction set that the kernels of this folder run on, as Highway names it.
const char* kernel_target();

}  // namespace focus
