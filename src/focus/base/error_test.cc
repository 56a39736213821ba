#include "focus/base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace focus {
namespace {

TEST(Error, TextIsOneLineInTheDocumentedOrder) {
  const Error error(ErrorKind::kFormat, "a\nb", "four bytes", "three\r\n", "copy it again");
  EXPECT_STREQ(error.what(), "a b: expected four bytes, found three  ; copy it again");
  EXPECT_EQ(error.kind(), ErrorKind::kFormat);
  EXPECT_EQ(error.subject(), "a\nb");
  EXPECT_EQ(error.expected(), "four bytes");
  EXPECT_EQ(error.found(), "three\r\n");
  EXPECT_EQ(error.hint(), "copy it again");
}

TEST(Error, WithoutAHintEndsAfterWhatWasFound) {
  EXPECT_STREQ(Error(ErrorKind::kIo, "f", "x", "y").what(), "f: expected x, found y");
}

TEST(Error, InQuotesCutsLongTextAndHidesControls) {
  EXPECT_EQ(in_quotes("\x1b[2J\n"), "'?[2J?'");
  EXPECT_EQ(in_quotes("a'b"), "'a'b'");
  EXPECT_EQ(in_quotes(std::string(200, 'x')), "'" + std::string(200, 'x') + "'");
  EXPECT_EQ(in_quotes(std::string(201, 'x')), "'" + std::string(200, 'x') + "...'");
}

}  // namespace
}  // namespace focus
