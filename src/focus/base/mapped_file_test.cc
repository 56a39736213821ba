#include "focus/base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <utility>

#include "focus/base/error.h"
#include "focus/base/test_folder.h"

namespace focus {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class MappedFileTest : public testing::Test {
 protected:
  ErrorKind kind_of(const std::string& path) {
    try {
      MappedFile file(path);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      return error.kind();
    }
    ADD_FAILURE() << path << " was opened";
    return ErrorKind::kState;
  }
  TestFolder folder_;
};

TEST_F(MappedFileTest, GivesTheBytes) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(text_of(MappedFile(folder_.write("f", text))), text);
}

TEST_F(MappedFileTest, EmptyFileIsAnEmptySpan) {
  EXPECT_TRUE(MappedFile(folder_.write("f", "")).bytes().empty());
}

TEST_F(MappedFileTest, MovesKeepTheBytesAndReleaseTheOldOnes) {
  MappedFile a(folder_.write("a", "first"));
  MappedFile b(folder_.write("b", "second"));
  const auto before = a.bytes();
  b = std::move(a);
  EXPECT_EQ(text_of(b), "first");
  EXPECT_EQ(b.bytes().data(), before.data());
  const MappedFile c(std::move(b));
  EXPECT_EQ(text_of(c), "first");
}

TEST_F(MappedFileTest, RefusesWhatIsNotARegularFile) {
  EXPECT_EQ(kind_of(folder_.at("absent")), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(folder_.write("f", "x") + "/below-a-file"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(folder_.path()), ErrorKind::kIo);
  EXPECT_EQ(kind_of("/dev/zero"), ErrorKind::kIo);
  // Opening a pipe without a writer must not block.
  const std::string pipe = folder_.at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(kind_of(pipe), ErrorKind::kIo);
}

}  // namespace
}  // namespace focus
