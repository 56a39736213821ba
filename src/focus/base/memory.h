#pragma once

#include <cstdint>
#include <string>

namespace focus {

// Bytes that this process may still take without swapping: what the system has free or can free,
// and no more than its control group (v2) leaves. The largest int64 where neither can be read.
int64_t available_memory();

// Error(kMemory), with both sizes, when `needed` bytes for the weights of `subject` exceed
// `available`.
void check_fits(const std::string& subject, int64_t needed, int64_t available);

}  // namespace focus
