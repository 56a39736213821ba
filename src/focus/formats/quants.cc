#include "focus/formats/quants.h"

#include <cstring>

namespace focus {
namespace {

// The blocks as they lie in the file: every member is bytes, so there is no padding. Halves are two
// bytes each.
using Half = uint8_t[2];

struct BlockQ4_0 {
  Half scale;
  uint8_t low_high[16];  // elements 0-15 in the low nibbles, 16-31 in the high ones
};
struct BlockQ4_1 {
  Half scale, minimum;
  uint8_t low_high[16];
};
struct BlockQ5_0 {
  Half scale;
  uint8_t fifth[4];  // bit j: the fifth bit of element j
  uint8_t low_high[16];
};
struct BlockQ5_1 {
  Half scale, minimum;
  uint8_t fifth[4];
  uint8_t low_high[16];
};
struct BlockQ8_0 {
  Half scale;
  int8_t values[32];
};
struct BlockQ4_K {
  Half scale, minimum;  // of the eight 6-bit scales and minima below
  uint8_t scales[12];
  uint8_t
      low_high[128];  // 32 bytes for each pair of 32-element groups: first low, then high nibbles
};
struct BlockQ5_K {
  Half scale, minimum;
  uint8_t scales[12];
  uint8_t fifth[32];  // byte l, bit g: the fifth bit of element l of group g
  uint8_t low_high[128];
};
struct BlockQ6_K {
  uint8_t low[128];  // low four bits
  uint8_t high[64];  // upper two bits
  int8_t scales[16];
  Half scale;
};
static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

float read_half(const Half& bytes) {
  return float_from_half(static_cast<uint16_t>(bytes[0] | bytes[1] << 8));
}

template <typename Block, int kElements, typename Expand>
void for_each_block(const std::byte* in, int64_t blocks, float* out, Expand expand) {
  for (int64_t b = 0; b < blocks; ++b) {
    Block block;
    std::memcpy(&block, in + b * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
    expand(block, out + b * kElements);
  }
}

uint32_t read_bits(const uint8_t (&bytes)[4]) {
  uint32_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// The 32 elements of a Q5_0 or Q5_1 block; value_of(q): what the five bits q stand for.
template <typename Block, typename ValueOf>
void expand_five_bits(const Block& block, float* y, ValueOf value_of) {
  const uint32_t fifth = read_bits(block.fifth);
  for (int j = 0; j < 16; ++j) {
    y[j] = value_of((block.low_high[j] & 15) | static_cast<int>(fifth >> j & 1) << 4);
    y[j + 16] = value_of(block.low_high[j] >> 4 | static_cast<int>(fifth >> (j + 16) & 1) << 4);
  }
}

// Scale and minimum of 32-element group g, six bits each, of the twelve bytes that Q4_K and Q5_K
// share: groups 0-3 keep theirs whole in bytes g and g + 4; groups 4-7 keep four bits in byte g + 4
// and the upper two above those of group g - 4.
struct GroupScale {
  float scale, minimum;
};

template <typename Block>
GroupScale group_scale(const Block& block, int64_t g) {
  const uint8_t* s = block.scales;
  const int scale = g < 4 ? s[g] & 63 : (s[g + 4] & 15) | (s[g - 4] >> 6) << 4;
  const int minimum = g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | (s[g] >> 6) << 4;
  return {read_half(block.scale) * static_cast<float>(scale),
          read_half(block.minimum) * static_cast<float>(minimum)};
}

// The eight groups of a Q4_K or Q5_K block; fifth_of(g, l): the fifth bit of element l of group g.
template <typename Block, typename FifthOf>
void expand_groups(const Block& block, float* y, FifthOf fifth_of) {
  for (int64_t g = 0; g < 8; ++g) {
    const GroupScale group = group_scale(block, g);
    const uint8_t* nibbles = block.low_high + g / 2 * 32;
    const int64_t shift = g % 2 * 4;
    for (int64_t l = 0; l < 32; ++l) {
      const int q = (nibbles[l] >> shift & 15) | fifth_of(g, l) << 4;
      y[g * 32 + l] = group.scale * static_cast<float>(q) - group.minimum;
    }
  }
}

}  // namespace

float float_from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  // Through an integer: the result is right even where the CPU flushes subnormals to zero.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

float float_from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

void expand_q4_0(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ4_0, 32>(in, blocks, out, [](const BlockQ4_0& block, float* y) {
    const float d = read_half(block.scale);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>((block.low_high[j] & 15) - 8);
      y[j + 16] = d * static_cast<float>((block.low_high[j] >> 4) - 8);
    }
  });
}

void expand_q4_1(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ4_1, 32>(in, blocks, out, [](const BlockQ4_1& block, float* y) {
    const float d = read_half(block.scale), m = read_half(block.minimum);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>(block.low_high[j] & 15) + m;
      y[j + 16] = d * static_cast<float>(block.low_high[j] >> 4) + m;
    }
  });
}

void expand_q5_0(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ5_0, 32>(in, blocks, out, [](const BlockQ5_0& block, float* y) {
    const float d = read_half(block.scale);
    expand_five_bits(block, y, [d](int q) { return d * static_cast<float>(q - 16); });
  });
}

void expand_q5_1(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ5_1, 32>(in, blocks, out, [](const BlockQ5_1& block, float* y) {
    const float d = read_half(block.scale), m = read_half(block.minimum);
    expand_five_bits(block, y, [d, m](int q) { return d * static_cast<float>(q) + m; });
  });
}

void expand_q8_0(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ8_0, 32>(in, blocks, out, [](const BlockQ8_0& block, float* y) {
    const float d = read_half(block.scale);
    for (int j = 0; j < 32; ++j) y[j] = d * static_cast<float>(block.values[j]);
  });
}

void expand_q4_k(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ4_K, 256>(in, blocks, out, [](const BlockQ4_K& block, float* y) {
    expand_groups(block, y, [](int64_t, int64_t) { return 0; });
  });
}

void expand_q5_k(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ5_K, 256>(in, blocks, out, [](const BlockQ5_K& block, float* y) {
    expand_groups(block, y, [&block](int64_t g, int64_t l) { return block.fifth[l] >> g & 1; });
  });
}

void expand_q6_k(const std::byte* in, int64_t blocks, float* out) {
  for_each_block<BlockQ6_K, 256>(in, blocks, out, [](const BlockQ6_K& block, float* y) {
    const float d = read_half(block.scale);
    // Two halves of four 32-element groups: groups 0 and 1 in the low nibbles of 64 bytes, 2 and 3
    // in the high ones.
    for (int64_t g = 0; g < 8; ++g) {
      const int64_t half = g / 4, part = g % 4;
      const uint8_t* low = block.low + half * 64 + part % 2 * 32;
      const uint8_t* high = block.high + half * 32;
      for (int64_t l = 0; l < 32; ++l) {
        const int q = (low[l] >> part / 2 * 4 & 15) | (high[l] >> 2 * part & 3) << 4;
        const int8_t scale = block.scales[g * 2 + l / 16];
        y[g * 32 + l] = d * static_cast<float>(scale) * static_cast<float>(q - 32);
      }
    }
  });
}

}  // namespace focus
