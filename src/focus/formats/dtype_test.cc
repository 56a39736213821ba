#include "focus/formats/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/formats/quants.h"

namespace focus {
namespace {

constexpr DType kAll[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kF64,  DType::kI8,
                          DType::kI16,  DType::kI32,  DType::kI64,  DType::kU8,   DType::kBool,
                          DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                          DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

struct Golden {
  std::string blocks;
  std::vector<float> values;
};

std::map<std::string, Golden> read_goldens() {
  const std::string file =
      read_file(std::string(FOCUS_SOURCE_DIR) + "/src/focus/formats/testdata/quants.bin");
  std::map<std::string, Golden> goldens;
  for (size_t at = 0; at < file.size();) {
    const std::string name = file.c_str() + at;
    uint32_t sizes[2];
    std::memcpy(sizes, file.data() + at + 8, sizeof(sizes));
    at += 16;
    Golden& golden = goldens[name];
    golden.blocks = file.substr(at, sizes[0]);
    golden.values.resize(sizes[1]);
    std::memcpy(golden.values.data(), file.data() + at + sizes[0], 4 * sizes[1]);
    at += sizes[0] + 4 * sizes[1];
  }
  return goldens;
}

TEST(DType, EveryQuantisedTypeEqualsTheGgufPackageToTheBit) {
  const auto goldens = read_goldens();
  for (const DType dtype : kAll) {
    if (!is_expandable(dtype) || dtype == DType::kF32) continue;
    const std::string name(dtype_name(dtype));
    ASSERT_TRUE(goldens.contains(name)) << name;
    const Golden& golden = goldens.at(name);
    // From an odd address, as a tensor may lie in a file.
    const std::string shifted = "." + golden.blocks;
    std::vector<float> out(golden.values.size());
    expand_f32(dtype, std::as_bytes(std::span(shifted)).subspan(1), out);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(golden.values[i]))
          << name << " element " << i << ": " << out[i] << ", expected " << golden.values[i];
    }
  }
}

// The definition of binary16, in double.
double half_by_definition(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

TEST(DType, EveryHalfIsExact) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = float_from_half(half);
    if ((half >> 10 & 31) != 31) {
      ASSERT_EQ(static_cast<double>(value), half_by_definition(half)) << bits;
    } else {
      ASSERT_EQ(std::isnan(value), (half & 0x3ff) != 0) << bits;
      ASSERT_EQ(std::isinf(value), (half & 0x3ff) == 0) << bits;
    }
    ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << bits;
  }
}

TEST(DType, Bfloat16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(float_from_bfloat16(0x3f80), 1.0F);
  EXPECT_EQ(float_from_bfloat16(0xc049), -3.140625F);
  EXPECT_EQ(float_from_bfloat16(0x7f80), std::numeric_limits<float>::infinity());
}

TEST(DType, F32IsCopied) {
  const std::vector<float> in = {1.5F, -0.0F, std::numeric_limits<float>::infinity()};
  std::vector<float> out(3, 7.0F);
  expand_f32(DType::kF32, std::as_bytes(std::span(in)), out);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), 12), 0);
}

ErrorKind kind_of(DType dtype, size_t bytes, size_t elements) {
  const std::vector<std::byte> in(bytes);
  std::vector<float> out(elements);
  try {
    expand_f32(dtype, in, out);
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::kState;
}

TEST(DType, SizesThatDisagreeAreRefused) {
  for (const DType dtype : kAll) {
    if (!is_expandable(dtype)) {
      EXPECT_EQ(kind_of(dtype, 8, 1), ErrorKind::kUnsupported) << dtype_name(dtype);
      continue;
    }
    const auto bytes = static_cast<size_t>(block_bytes(dtype));
    const auto elements = static_cast<size_t>(block_elements(dtype));
    EXPECT_EQ(kind_of(dtype, 0, 0), ErrorKind::kState) << dtype_name(dtype);
    EXPECT_EQ(kind_of(dtype, 3 * bytes, 3 * elements), ErrorKind::kState) << dtype_name(dtype);
    EXPECT_EQ(kind_of(dtype, 3 * bytes - 1, 3 * elements), ErrorKind::kFormat);
    EXPECT_EQ(kind_of(dtype, 3 * bytes, 2 * elements), ErrorKind::kFormat);
    EXPECT_EQ(kind_of(dtype, 0, elements), ErrorKind::kFormat);
    if (elements > 1) {
      EXPECT_EQ(kind_of(dtype, bytes, elements + 1), ErrorKind::kFormat);
    }
  }
}

}  // namespace
}  // namespace focus
