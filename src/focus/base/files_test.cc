#include "focus/base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "focus/base/error.h"
#include "focus/base/test_folder.h"

namespace focus {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.at(name); }
  int64_t entries() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }
  template <typename Call>
  void expect_io_error(Call call, const std::string& part) {
    try {
      call();
      ADD_FAILURE() << "no error with '" << part << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIo);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_FALSE(error.hint().empty());
    }
  }
  TestFolder folder_;
};

TEST_F(FilesTest, RoundTripsBytesAndReplaces) {
  const std::string text("a\0\n\xff", 4);
  write_file_atomically(at("f"), std::string_view("old and longer"));
  write_file_atomically(at("f"), std::string_view(text));
  EXPECT_EQ(read_file(at("f")), text);
  EXPECT_EQ(entries(), 1);
}

TEST_F(FilesTest, PartsAreJoinedInOrder) {
  const std::string a = "one ", b, c = "two";
  const auto bytes = [](const std::string& s) { return std::as_bytes(std::span(s)); };
  const std::vector<std::span<const std::byte>> parts = {bytes(a), bytes(b), bytes(c)};
  write_file_atomically(at("f"), parts);
  EXPECT_EQ(read_file(at("f")), "one two");
}

TEST_F(FilesTest, NewFilesFollowTheUmask) {
  const mode_t before = ::umask(027);
  write_file_atomically(at("f"), std::string_view("x"));
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(at("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(FilesTest, MissingFolderFolderAndDeviceAreRefused) {
  const std::string_view text = "x";
  expect_io_error([&] { write_file_atomically(at("no/f"), text); }, "No such file or directory");
  expect_io_error([&] { write_file_atomically(folder_.path(), text); }, "Is a directory");
  expect_io_error([&] { write_file_atomically("/dev/null", text); }, "/dev/null");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(entries(), 0);
}

// A limit on file size makes write() fail half-way, as a full disk does.
TEST_F(FilesTest, AFailedWriteLeavesTheOldFileAndNoTemporary) {
  write_file_atomically(at("f"), std::string_view("old"));
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64 * 1024;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string big(1 << 20, 'x');
  expect_io_error([&] { write_file_atomically(at("f"), std::string_view(big)); }, "File too large");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(read_file(at("f")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(FilesTest, MakesFoldersAndSaysWhatIsInTheWay) {
  ensure_directory(at("a/b/c"));
  ensure_directory(at("a/b/c"));
  ensure_directory(at("a/b/d/"));
  EXPECT_TRUE(fs::is_directory(at("a/b/c")));
  EXPECT_TRUE(fs::is_directory(at("a/b/d")));
  write_file_atomically(at("f"), std::string_view("x"));
  expect_io_error([&] { ensure_directory(at("f")); }, "a file in its way");
  expect_io_error([&] { ensure_directory(at("f/g")); }, "a file in its way");
}

TEST_F(FilesTest, WritableCheckLeavesNothingBehind) {
  check_writable_directory(at("new"));
  EXPECT_TRUE(fs::is_empty(at("new")));
  expect_io_error([] { check_writable_directory("/proc/focus"); }, "/proc/focus");
  check_writable_file(at("new/f"));
  EXPECT_TRUE(fs::is_empty(at("new")));
  expect_io_error([&] { check_writable_file(at("new")); }, "new");
  expect_io_error([&] { check_writable_file(at("absent/f")); }, "absent");
  expect_io_error([] { check_writable_file("/dev/null"); }, "/dev/null");
}

}  // namespace
}  // namespace focus
