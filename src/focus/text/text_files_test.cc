#include "focus/text/text_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "focus/base/error.h"
#include "focus/base/test_folder.h"

namespace focus {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class TextFilesTest : public testing::Test {
 protected:
  // Reads bytes that must not be taken; `part` must be in the message.
  void expect_refused(const std::string& bytes, const std::string& part) {
    const std::string path = folder_.write("bad", bytes);
    try {
      read_text(path);
      ADD_FAILURE() << "no error for: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kFormat);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
  TestFolder folder_;
};

TEST_F(TextFilesTest, PlainAndGzipByFirstBytes) {
  const std::string text("caf\xC3\xA9\0 end\n", 11);
  EXPECT_EQ(read_text(folder_.write("a.gz", text)).text, text) << "the name does not matter";
  EXPECT_EQ(read_text(folder_.write("a.txt", gzip(text))).text, text);
  EXPECT_EQ(read_text(folder_.write("two", gzip("one ") + gzip("two"))).text, "one two");
  std::string large;
  for (int i = 0; i < 300'000; ++i) large += std::to_string(i) + "\n";
  EXPECT_EQ(read_text(folder_.write("large", gzip(large))).text, large);
}

TEST_F(TextFilesTest, DamageIsNamed) {
  const std::string packed = gzip("some text that is long enough to be cut anywhere");
  for (size_t n = 2; n < packed.size(); ++n) expect_refused(packed.substr(0, n), "an end inside");
  std::string flipped = packed;
  flipped[flipped.size() - 6] ^= 1;  // the checksum
  expect_refused(flipped, "incorrect data check at byte offset");
  expect_refused(packed + "tail", "at byte offset " + std::to_string(packed.size()));
  expect_refused("", "empty");
  expect_refused(gzip(""), "empty");
  expect_refused("good\xFF", "at byte offset 4");
  expect_refused(gzip("gut \xE2\x82"), "at byte offset 4");
}

TEST_F(TextFilesTest, TheFirstBytesEndAtAWholeCharacter) {
  const std::string text =
      "ab\xE2\x82\xAC"
      "cd";  // a three-byte character at 2
  for (const std::string& path :
       {folder_.write("plain", text), folder_.write("packed", gzip(text))}) {
    const std::vector<std::string> expected = {"a",
                                               "ab",
                                               "ab",
                                               "ab",
                                               "ab\xE2\x82\xAC",
                                               "ab\xE2\x82\xAC"
                                               "c",
                                               text,
                                               text};
    for (size_t n = 0; n < expected.size(); ++n)
      EXPECT_EQ(read_text(path, n + 1).text, expected[n]) << n + 1;
  }
  // What lies behind the first bytes is not looked at.
  EXPECT_EQ(read_text(folder_.write("bad tail", "good\xFF"), 4).text, "good");
}

TEST_F(TextFilesTest, PatternsAreSortedWithoutRepeats) {
  const std::string a = folder_.write("a.txt", "a"), b = folder_.write("b.txt", "b");
  const std::string odd = folder_.write("[1].txt", "c");
  std::filesystem::create_directory(folder_.at("z.txt"));
  const std::vector<std::string> expected = {odd, a, b};
  EXPECT_EQ(expand_patterns({b, folder_.at("*.txt"), folder_.at("./a.txt"), odd}).size(), 3U);
  EXPECT_EQ(expand_patterns({folder_.at("*.txt"), b}), expected);
  EXPECT_EQ(expand_patterns({folder_.at("[ab].txt")}), (std::vector<std::string>{a, b}));
}

TEST_F(TextFilesTest, NothingFoundIsAnError) {
  folder_.write("a.txt", "a");
  for (const std::string& pattern :
       {folder_.at("*.md"), folder_.at("missing.txt"), folder_.path(), std::string()}) {
    try {
      expand_patterns({folder_.at("a.txt"), pattern});
      ADD_FAILURE() << "no error for " << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
      EXPECT_EQ(error.subject(), pattern);
    }
  }
  EXPECT_THROW(read_text(folder_.at("missing.txt")), Error);
}

}  // namespace
}  // namespace focus
