// Expansion of ggml's quantised blocks (layouts: https://github.com/ggml-org/ggml, ggml-common.h).
// All arithmetic is fp32, in the order that the gguf Python package uses, so that both agree to the
// bit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace focus {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian and are read in place");

// IEEE binary16 to binary32: exact for every input, NaN payloads kept.
float float_from_half(uint16_t half);
// bfloat16 to binary32: exact.
float float_from_bfloat16(uint16_t bits);

// Expands `blocks` consecutive blocks; `in` need not be aligned. 32 elements a block for the first
// five, 256 for the rest.
void expand_q4_0(const std::byte* in, int64_t blocks, float* out);
void expand_q4_1(const std::byte* in, int64_t blocks, float* out);
void expand_q5_0(const std::byte* in, int64_t blocks, float* out);
void expand_q5_1(const std::byte* in, int64_t blocks, float* out);
void expand_q8_0(const std::byte* in, int64_t blocks, float* out);
void expand_q4_k(const std::byte* in, int64_t blocks, float* out);
void expand_q5_k(const std::byte* in, int64_t blocks, float* out);
void expand_q6_k(const std::byte* in, int64_t blocks, float* out);

}  // namespace focus
