#include "focus/formats/gguf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "focus/base/error.h"
#include "focus/base/test_folder.h"
#include "focus/formats/test_models.h"

namespace focus {
namespace {

using Dims = std::vector<uint64_t>;

// Two tensors and a key of every shape.
GgufBuilder valid() {
  GgufBuilder file;
  file.add_string("general.architecture", "test");
  file.add_u32("answer", 42);
  file.add_f32("half", 0.5F);
  file.add_bool("flag", true);
  file.add_pair("big", 10, raw_bytes(~uint64_t{0}));
  file.add_pair("negative", 11, raw_bytes(int64_t{-3}));
  file.add_pair("double", 12, raw_bytes(0.1));
  file.add_array("words", 8, 3, gguf_string("a") + gguf_string("") + gguf_string("\xc3\xa9"));
  file.add_array("bytes", 0, 5, std::string("\x01\x02\x03\x04\xff", 5));
  file.add_array("scores", 6, 2, raw_bytes(1.0F) + raw_bytes(-2.5F));
  file.add_array("none", 8, 0, "");
  file.add_tensor("first", {3, 2}, 0, std::string(24, '\x01'));
  file.add_tensor("second", {32}, 8, std::string(34, '\x02'));
  return file;
}

class GgufTest : public testing::Test {
 protected:
  GgufFile open(const std::string& bytes) { return GgufFile(folder_.write("f.gguf", bytes)); }
  // The error of opening it; kState when there is none.
  ErrorKind kind_of(const std::string& bytes, const std::string& part = "") {
    try {
      open(bytes);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("f.gguf"), std::string::npos) << error.what();
      return error.kind();
    }
    return ErrorKind::kState;
  }
  ErrorKind kind_with(const std::function<void(GgufBuilder&)>& change,
                      const std::string& part = "") {
    GgufBuilder file = valid();
    change(file);
    return kind_of(file.build(), part);
  }
  TestFolder folder_;
};

TEST_F(GgufTest, ReadsMetadataByType) {
  for (const uint32_t version : {2u, 3u}) {
    GgufBuilder builder = valid();
    builder.version = version;
    const GgufFile file = open(builder.build());
    EXPECT_TRUE(file.has("answer"));
    EXPECT_FALSE(file.has("answers"));
    EXPECT_EQ(file.string("general.architecture"), "test");
    EXPECT_EQ(file.integer("answer"), 42);
    EXPECT_EQ(file.integer("flag"), 1);
    EXPECT_EQ(file.integer("negative"), -3);
    EXPECT_EQ(file.real("half"), 0.5);
    EXPECT_EQ(file.real("double"), 0.1);
    EXPECT_TRUE(file.boolean("flag"));
    EXPECT_EQ(file.strings("words"), (std::vector<std::string>{"a", "", "\xc3\xa9"}));
    EXPECT_EQ(file.strings("none"), std::vector<std::string>{});
    EXPECT_EQ(file.integers("bytes"), (std::vector<int64_t>{1, 2, 3, 4, 255}));
    EXPECT_EQ(file.reals("scores"), (std::vector<double>{1.0, -2.5}));
    const auto lines = file.describe_metadata();
    EXPECT_EQ(lines.size(), 11u);
    EXPECT_EQ(lines.front(), "answer = 42");
    EXPECT_EQ(lines[2], "bytes = 5 x uint8 [1, 2, 3, 4, ...]");
  }
}

TEST_F(GgufTest, RefusesToReadAnotherType) {
  const GgufFile file = open(valid().build());
  const auto kind = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kState;
  };
  EXPECT_EQ(kind([&] { file.string("absent"); }), ErrorKind::kNotFound);
  EXPECT_EQ(kind([&] { file.strings("absent"); }), ErrorKind::kNotFound);
  EXPECT_EQ(kind([&] { file.string("answer"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.string("words"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.integer("half"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.integer("big"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.real("answer"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.boolean("answer"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.strings("bytes"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.integers("words"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.integers("answer"); }), ErrorKind::kFormat);
  EXPECT_EQ(kind([&] { file.reals("bytes"); }), ErrorKind::kFormat);
}

TEST_F(GgufTest, ReadsTensorsOutermostExtentFirst) {
  const GgufFile opened = open(valid().build());
  GgufFile other = open(valid().build());
  other = GgufFile(folder_.at("f.gguf"));
  for (const GgufFile* file : {&opened, &std::as_const(other)}) {
    ASSERT_EQ(file->tensors().size(), 2u);
    const TensorInfo& first = file->tensors()[0];
    EXPECT_EQ(first.name, "first");
    EXPECT_EQ(first.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(first.elements(), 6);
    ASSERT_EQ(first.bytes.size(), 24u);
    EXPECT_EQ(first.bytes[0], std::byte{1});
    const TensorInfo& second = file->tensors()[1];
    EXPECT_EQ(second.dtype, DType::kQ8_0);
    ASSERT_EQ(second.bytes.size(), 34u);
    EXPECT_EQ(second.bytes[33], std::byte{2});
  }
}

TEST_F(GgufTest, AlignmentIsTheFilesOwn) {
  GgufBuilder builder = valid();
  builder.alignment = 128;
  builder.add_u32("general.alignment", 128);
  builder.tensors[1].offset = 128;
  const GgufFile file = open(builder.build());
  EXPECT_EQ(file.tensors()[0].bytes[23], std::byte{1});
  EXPECT_EQ(file.tensors()[1].bytes[0], std::byte{2});
}

TEST_F(GgufTest, MalformedHeaders) {
  std::string bytes = valid().build();
  const auto with = [&](size_t at, const std::string& part) {
    return std::string(bytes).replace(at, part.size(), part);
  };
  EXPECT_EQ(kind_of(with(0, "GGML"), "a GGUF file"), ErrorKind::kFormat);
  EXPECT_EQ(kind_of(with(4, raw_bytes(1u)), "version 2 or 3"), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(with(4, raw_bytes(4u)), "version 2 or 3"), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of(with(4, raw_bytes(0x03000000u)), "big-endian"), ErrorKind::kUnsupported);
  for (const uint64_t count : {uint64_t{3}, uint64_t{1} << 20, uint64_t{1} << 60, ~uint64_t{0}}) {
    EXPECT_EQ(kind_of(with(8, raw_bytes(count))), ErrorKind::kFormat) << count << " tensors";
  }
  for (const uint64_t count : {uint64_t{12}, uint64_t{1} << 20, uint64_t{1} << 60, ~uint64_t{0}}) {
    EXPECT_EQ(kind_of(with(16, raw_bytes(count))), ErrorKind::kFormat) << count << " keys";
  }
}

TEST_F(GgufTest, MalformedMetadata) {
  const auto pair = [&](std::string_view key, uint32_t type, const std::string& value,
                        const std::string& part = "") {
    return kind_with([&](GgufBuilder& f) { f.add_pair(key, type, value); }, part);
  };
  const auto format = ErrorKind::kFormat;
  EXPECT_EQ(pair("", 4, raw_bytes(1u), "keys of 1 to 65535 bytes"), format);
  EXPECT_EQ(pair(std::string(65536, 'k'), 4, raw_bytes(1u), "65536"), format);
  EXPECT_EQ(pair("answer", 4, raw_bytes(1u), "'answer'"), format) << "twice";
  EXPECT_EQ(pair("k", 13, raw_bytes(1u), "'k'"), format) << "unknown type";
  EXPECT_EQ(pair("k", 7, "\x02", "'k'"), format) << "bool of 2";
  EXPECT_EQ(pair("k", 8, raw_bytes(uint64_t{1} << 40)), format);
  EXPECT_EQ(pair("k", 8, raw_bytes(~uint64_t{0})), format);
  const auto array = [&](uint32_t type, uint64_t count) {
    return pair("k", 9, raw_bytes(type) + raw_bytes(count));
  };
  EXPECT_EQ(array(0, uint64_t{1} << 40), format);
  EXPECT_EQ(array(10, uint64_t{1} << 61), format) << "bytes wrap to 2^64 = 0";
  EXPECT_EQ(array(8, ~uint64_t{0}), format);
  EXPECT_EQ(array(99, 1), format);
  EXPECT_EQ(array(9, 1), ErrorKind::kUnsupported);
  for (const uint32_t alignment : {0u, 3u, 24u, 0x80000001u}) {
    EXPECT_EQ(pair("general.alignment", 4, raw_bytes(alignment), "general.alignment"), format);
  }
  EXPECT_EQ(pair("general.alignment", 4, raw_bytes(0x80000000u)), format) << "data past the end";
  EXPECT_EQ(pair("general.alignment", 11, raw_bytes(int64_t{-32})), format);
  EXPECT_EQ(pair("general.alignment", 6, raw_bytes(32.0F)), format);
}

TEST_F(GgufTest, MalformedTensors) {
  const auto format = ErrorKind::kFormat;
  const auto dims = [&](Dims value) {
    return kind_with([&](GgufBuilder& f) { f.tensors[0].dims = std::move(value); }, "'first'");
  };
  EXPECT_EQ(dims({0, 2}), format);
  EXPECT_EQ(dims({uint64_t{1} << 42}), format);
  EXPECT_EQ(dims({uint64_t{1} << 42, uint64_t{1} << 42}), format);
  EXPECT_EQ(dims({uint64_t{1} << 32, uint64_t{1} << 32, 1}), format);
  EXPECT_EQ(dims({~uint64_t{0}}), format);
  EXPECT_EQ(dims({uint64_t{1} << 62}), format);
  EXPECT_EQ(dims({1, 1, 1, 1, 1}), format);
  EXPECT_EQ(dims({2000, 2}), format);
  const auto offset = [&](uint64_t value) {
    return kind_with([&](GgufBuilder& f) { f.tensors[1].offset = value; }, "'second'");
  };
  EXPECT_EQ(offset(0), format) << "overlap";
  EXPECT_EQ(offset(16), format) << "misaligned";
  EXPECT_EQ(offset(uint64_t{1} << 40), format) << "past the end";
  EXPECT_EQ(offset(~uint64_t{31}), format) << "wraps";
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.tensors[1].dims = {33}; }, "'second'"), format)
      << "half a block";
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.tensors[1].name = "first"; }, "'first'"), format);
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.tensors[1].name = ""; }), format);
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.tensors[1].data.pop_back(); }, "'second'"), format);
  for (const uint32_t type : {4u, 10u, 31u, 39u, ~0u}) {
    EXPECT_EQ(
        kind_with([&](GgufBuilder& f) { f.tensors[1].type = type; }, "'second': expected F32, F16"),
        ErrorKind::kUnsupported);
    EXPECT_EQ(kind_with([&](GgufBuilder& f) { f.tensors[1].type = type; },
                        "ggml type " + std::to_string(type)),
              ErrorKind::kUnsupported);
  }
}

// A hole is legal: only the alignment and the bounds are the format's.
TEST_F(GgufTest, HolesAreAllowed) {
  EXPECT_EQ(kind_with([](GgufBuilder& f) { f.tensors[1].offset = 320; }), ErrorKind::kState);
}

TEST_F(GgufTest, TruncatedAnywhereIsAFormatError) {
  const std::string whole = valid().build();
  ASSERT_EQ(kind_of(whole), ErrorKind::kState);
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_EQ(kind_of(whole.substr(0, size)), ErrorKind::kFormat) << size << " bytes";
  }
}

}  // namespace
}  // namespace focus
