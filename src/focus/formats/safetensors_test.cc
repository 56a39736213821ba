#include "focus/formats/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/base/test_folder.h"
#include "focus/formats/test_models.h"

namespace focus {
namespace {

std::string file_of(const std::string& header, size_t data_bytes) {
  return raw_bytes(uint64_t{header.size()}) + header + std::string(data_bytes, '\x05');
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsFile open(const std::string& bytes) {
    return SafetensorsFile(folder_.write("f.safetensors", bytes));
  }
  // The error of opening it; kState when there is none.
  ErrorKind kind_of(const std::string& bytes, const std::string& part = "") {
    try {
      open(bytes);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("f.safetensors"), std::string::npos);
      return error.kind();
    }
    return ErrorKind::kState;
  }
  ErrorKind kind_of_header(const std::string& header, size_t data_bytes = 8) {
    return kind_of(file_of(header, data_bytes));
  }
  TestFolder folder_;
};

TEST_F(SafetensorsTest, ReadsTensorsSortedByNameAndMetadata) {
  const SafetensorsFile file =
      open(file_of(R"({"b":)" + tensor("F32", "[1,2]", "[2,10]") +
                       R"(,"__metadata__":{"format":"pt","n":[1,{"a":"b\"","c":[]},null,)" +
                       R"(-2.5,true],"k":7},"empty":)" + tensor("I64", "[0,4]", "[10,10]") +
                       R"(,"a":)" + tensor("F16", "[]", "[0,2]") + "}   ",
                   10));
  ASSERT_EQ(file.tensors().size(), 3u);
  const TensorInfo &a = file.tensors()[0], &b = file.tensors()[1], &empty = file.tensors()[2];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::kF16);
  EXPECT_TRUE(a.shape.empty());
  EXPECT_EQ(a.elements(), 1);
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(b.bytes.size(), 8u);
  EXPECT_EQ(b.bytes.data(), a.bytes.data() + 2);
  EXPECT_EQ(empty.elements(), 0);
  const std::map<std::string, std::string> expected = {
      {"format", "pt"}, {"k", "7"}, {"n", R"([1,{"a":"b\"","c":[]},null,-2.5,true])"}};
  EXPECT_EQ(file.metadata(), expected);
}

TEST_F(SafetensorsTest, MalformedLengths) {
  const std::string header = R"({"a":)" + tensor("F32", "[2]", "[0,8]") + "}";
  ASSERT_EQ(kind_of_header(header), ErrorKind::kState);
  EXPECT_EQ(kind_of(""), ErrorKind::kFormat);
  EXPECT_EQ(kind_of(raw_bytes(uint64_t{0}) + header), ErrorKind::kFormat);
  for (const uint64_t length : {uint64_t{header.size() + 9}, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_EQ(kind_of(raw_bytes(length) + header + std::string(8, '\0'), std::to_string(length)),
              ErrorKind::kFormat);
  }
}

TEST_F(SafetensorsTest, MalformedTables) {
  const auto one = [&](const std::string& entry, size_t data_bytes = 8) {
    return kind_of_header(R"({"a":)" + entry + "}", data_bytes);
  };
  const auto two = [&](const std::string& first, const std::string& second) {
    return kind_of_header(R"({"a":)" + tensor("U8", "[4]", first) + R"(,"b":)" +
                          tensor("U8", "[4]", second) + "}");
  };
  const auto format = ErrorKind::kFormat;
  ASSERT_EQ(two("[0,4]", "[4,8]"), ErrorKind::kState);
  ASSERT_EQ(two("[4,8]", "[0,4]"), ErrorKind::kState);
  EXPECT_EQ(two("[0,4]", "[0,4]"), format) << "overlap";
  EXPECT_EQ(two("[0,4]", "[2,6]"), format) << "overlap";
  EXPECT_EQ(two("[0,4]", "[5,9]"), format) << "past the end";
  EXPECT_EQ(two("[4,0]", "[4,8]"), format) << "reversed";
  EXPECT_EQ(one(tensor("U8", "[4]", "[0,4]")), format) << "unused bytes";
  EXPECT_EQ(one(tensor("U8", "[4]", "[4,8]")), format) << "hole";
  EXPECT_EQ(one(tensor("U8", "[4]", "[0,4]"), 3), format) << "past the end";
  EXPECT_EQ(one(tensor("U8", "[0]", "[18446744073709551615,18446744073709551615]"), 0), format);
  EXPECT_EQ(one(tensor("F32", "[3]", "[0,8]")), format) << "shape and bytes disagree";
  EXPECT_EQ(one(tensor("F32", "[4294967296,4294967296]", "[0,0]"), 0), format) << "2^64 elements";
  EXPECT_EQ(one(tensor("F32", "[4611686018427387904]", "[0,0]"), 0), format) << "2^64 bytes";
  EXPECT_EQ(one(tensor("F32", "[0,4294967296,4294967296]", "[0,0]"), 0), format);
  EXPECT_EQ(one(tensor("F32", "[9223372036854775808]", "[0,8]")), format);
  EXPECT_EQ(one(tensor("F32", "[-2]", "[0,8]")), format);
  EXPECT_EQ(one(tensor("F32", "[2.0]", "[0,8]")), format);
  EXPECT_EQ(one(tensor("F32", "[[2]]", "[0,8]")), format);
  EXPECT_EQ(one(tensor("F32", "2", "[0,8]")), format);
  EXPECT_EQ(one(tensor("F32", "[2]", "[8]")), format);
  EXPECT_EQ(one(tensor("F32", "[2]", "[0,8,8]")), format);
  EXPECT_EQ(one(tensor("F4", "[2]", "[0,8]")), ErrorKind::kUnsupported);
  EXPECT_EQ(one(tensor("F8_E4M3", "[8]", "[0,8]")), ErrorKind::kUnsupported);
  EXPECT_EQ(one("{}"), format);
  EXPECT_EQ(one("3"), format);
  EXPECT_EQ(one("null"), format);
  EXPECT_EQ(one("\"x\""), format);
  EXPECT_EQ(one("[]"), format);
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2]})"), format);
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1})"), format);
  EXPECT_EQ(one(R"({"dtype":"F32","dtype":"F32","data_offsets":[0,8]})"), format);
  EXPECT_EQ(one(R"({"dtype":["F32"],"shape":[2],"data_offsets":[0,8]})"), format);
}

TEST_F(SafetensorsTest, MalformedJson) {
  const auto format = ErrorKind::kFormat;
  const std::string good = tensor("U8", "[8]", "[0,8]");
  EXPECT_EQ(kind_of_header(R"({"a":)" + good + R"(,"a":)" + good + "}"), format) << "twice";
  EXPECT_EQ(kind_of_header(R"({"a":)" + good), format);
  EXPECT_EQ(kind_of_header(R"({"a":)" + good + "}}"), format);
  EXPECT_EQ(kind_of_header(R"( {"a":)" + good + "}"), format) << "must start with a brace";
  EXPECT_EQ(kind_of_header("[]", 0), format);
  EXPECT_EQ(kind_of_header("{\"a\xff\":" + good + "}"), format) << "not UTF-8";
  EXPECT_EQ(kind_of_header(R"({"__metadata__":3})", 0), format);
  EXPECT_EQ(kind_of_header(R"({"__metadata__":{"a":"b","a":"c"}})", 0), format);
  EXPECT_EQ(kind_of_header(R"({"__metadata__":{"a":)" + std::string(100000, '['), 0), format);
  EXPECT_EQ(kind_of_header("{}", 0), ErrorKind::kState);
  EXPECT_EQ(kind_of_header("{}", 1), format);
}

TEST_F(SafetensorsTest, TruncatedAnywhereIsAFormatError) {
  const std::string whole = file_of(R"({"a":)" + tensor("F32", "[2]", "[0,8]") + "}", 8);
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_EQ(kind_of(whole.substr(0, size)), ErrorKind::kFormat) << size << " bytes";
  }
}

class SafetensorsWriterTest : public SafetensorsTest {
 protected:
  std::vector<float> floats_ = {1.0F, -2.0F};
  std::vector<uint8_t> bytes_ = {1, 2, 3};
  std::vector<TensorToWrite> tensors_ = {
      {"z", DType::kU8, {3}, std::as_bytes(std::span(bytes_))},
      {"y \"\xc3\xa9", DType::kF32, {1, 2}, std::as_bytes(std::span(floats_))},
      {"none", DType::kF32, {0}, {}}};
};

TEST_F(SafetensorsWriterTest, RoundTripsWithAlignedData) {
  write_safetensors(folder_.at("f.safetensors"), tensors_, {{"k", "v\n"}});
  const SafetensorsFile file(folder_.at("f.safetensors"));
  ASSERT_EQ(file.tensors().size(), 3u);
  for (const TensorToWrite& written : tensors_) {
    bool found = false;
    for (const TensorInfo& read : file.tensors()) {
      if (read.name != written.name) continue;
      found = true;
      EXPECT_EQ(read.dtype, written.dtype);
      EXPECT_EQ(read.shape, written.shape);
      EXPECT_TRUE(std::equal(read.bytes.begin(), read.bytes.end(), written.bytes.begin(),
                             written.bytes.end()));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(read.bytes.data()) % block_bytes(read.dtype), 0u);
    }
    EXPECT_TRUE(found) << written.name;
  }
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"k", "v\n"}}));
}

TEST_F(SafetensorsWriterTest, SameInputInAnyOrderGivesTheSameBytes) {
  write_safetensors(folder_.at("a"), tensors_, {});
  std::swap(tensors_[0], tensors_[2]);
  write_safetensors(folder_.at("b"), tensors_, {});
  EXPECT_EQ(read_file(folder_.at("a")), read_file(folder_.at("b")));
}

TEST_F(SafetensorsWriterTest, BadInputIsRefusedAndNothingIsWritten) {
  const auto kind = [&](const TensorToWrite& last, const std::string& name = "f") {
    tensors_.push_back(last);
    ErrorKind result = ErrorKind::kState;
    try {
      write_safetensors(folder_.at(name), tensors_, {});
    } catch (const Error& error) {
      result = error.kind();
    }
    tensors_.pop_back();
    return result;
  };
  const auto bytes = std::as_bytes(std::span(bytes_));
  EXPECT_EQ(kind({"w", DType::kU8, {2}, bytes}), ErrorKind::kUsage);
  EXPECT_EQ(kind({"w", DType::kU8, {-3}, bytes}), ErrorKind::kUsage);
  EXPECT_EQ(kind({"z", DType::kU8, {3}, bytes}), ErrorKind::kUsage);
  EXPECT_EQ(kind({"", DType::kU8, {3}, bytes}), ErrorKind::kUsage);
  EXPECT_EQ(kind({"__metadata__", DType::kU8, {3}, bytes}), ErrorKind::kUsage);
  EXPECT_EQ(kind({"\xff", DType::kU8, {3}, bytes}), ErrorKind::kUsage);
  EXPECT_EQ(kind({"w", DType::kQ8_0, {0}, {}}), ErrorKind::kUsage);
  EXPECT_EQ(kind({"w", DType::kU8, {3}, bytes}, "no/f"), ErrorKind::kIo);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace focus
