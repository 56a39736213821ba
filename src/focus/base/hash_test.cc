#include "focus/base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace focus {
namespace {

std::string hash_of(std::string_view text) {
  Hash64 hash;
  hash.add(text);
  return hash.hex();
}

// The published vectors of FNV-1a, 64 bits.
TEST(Hash64, MatchesThePublishedVectors) {
  EXPECT_EQ(hash_of(""), "cbf29ce484222325");
  EXPECT_EQ(hash_of("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(hash_of("foobar"), "85944171f73967e8");
}

TEST(Hash64, DoesNotSeeHowTheBytesWereCut) {
  Hash64 hash;
  for (const std::string_view piece : {"fo", "", "oba", "r"}) hash.add(piece);
  EXPECT_EQ(hash.hex(), hash_of("foobar"));
}

TEST(Hash64, IntegersAreEightLittleEndianBytes) {
  Hash64 hash;
  hash.add(int64_t{0x0102});
  EXPECT_EQ(hash.hex(), hash_of(std::string_view("\x02\x01\0\0\0\0\0\0", 8)));
}

}  // namespace
}  // namespace focus
