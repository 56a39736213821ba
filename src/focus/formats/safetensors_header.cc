#include "focus/formats/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "focus/base/error.h"

namespace focus {
namespace {

constexpr size_t kMaxDims = 64;
constexpr size_t kMaxTensors = size_t{1} << 20;
constexpr int kMaxDepth = 64;

// Receives the parser's events. Depth 1 is the file's object, depth 2 a tensor or __metadata__,
// depth 3 an array in a tensor; below a metadata key anything is taken and kept as JSON text.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderEvents(const std::string& path, SafetensorsHeader* header) : path_(path), header_(header) {}

  bool null() override { return plain("null"); }
  bool boolean(bool value) override { return plain(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    if (in_metadata()) return plain(std::to_string(value));
    fail("sizes and offsets of 0 or more", std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_metadata()) return plain(std::to_string(value));
    if (depth_ != 3) fail("an object for each tensor", "a number");
    if (field_ == "shape") {
      if (tensor().shape.size() == kMaxDims) fail("at most 64 dimensions", "more");
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        fail("extents below 2^63", std::to_string(value));
      }
      tensor().shape.push_back(static_cast<int64_t>(value));
    } else {
      if (offsets_seen_ == 2) fail("two data_offsets", "more");
      tensor().offsets[offsets_seen_++] = value;
    }
    return true;
  }
  bool number_float(number_float_t, const string_t& text) override {
    if (in_metadata()) return plain(text);
    fail("whole numbers", text);
  }
  bool string(string_t& value) override {
    if (in_metadata()) {
      if (depth_ > 2) return plain(nlohmann::json(value).dump());
      metadata_value() = std::move(value);
      return true;
    }
    if (depth_ != 2 || field_ != "dtype") fail("no text here", in_quotes(value));
    tensor().dtype = std::move(value);
    return true;
  }
  bool binary(binary_t&) override { fail("JSON", "binary data"); }

  bool start_object(size_t) override {
    if (depth_ == 2 && !in_metadata()) fail("no object inside a tensor", "one");
    open("{");
    if (depth_ == 2 && !in_metadata()) {
      if (header_->entries.size() == kMaxTensors) fail("at most 2^20 tensors", "more");
      header_->entries.emplace_back().name = name_;
      fields_.clear();
      offsets_seen_ = 0;
    }
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) {
      if (!names_.insert(value).second) fail("each name once", in_quotes(value) + " twice");
      name_ = std::move(value);
    } else if (in_metadata() && depth_ == 2) {
      field_ = std::move(value);
      if (!header_->metadata.emplace(field_, "").second) {
        fail("each metadata key once", in_quotes(field_) + " twice");
      }
    } else if (in_metadata()) {
      separate();
      metadata_value() += nlohmann::json(value).dump() + ":";
      after_value_ = false;
    } else {
      field_ = std::move(value);
      if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets") {
        fail("dtype, shape and data_offsets", in_quotes(field_));
      }
      if (!fields_.insert(field_).second) fail("each field once", in_quotes(field_) + " twice");
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata() && (fields_.size() != 3 || offsets_seen_ != 2)) {
      fail("dtype, shape and two data_offsets", "fewer");
    }
    return close("}");
  }
  bool start_array(size_t) override {
    const bool wanted = in_metadata()
                            ? depth_ >= 2
                            : depth_ == 2 && (field_ == "shape" || field_ == "data_offsets");
    if (!wanted) fail("no array here", "one");
    open("[");
    return true;
  }
  bool end_array() override { return close("]"); }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail("a JSON header", "an error at its byte " + std::to_string(position));
  }

 private:
  bool in_metadata() const { return depth_ >= 1 && name_ == "__metadata__"; }
  SafetensorsEntry& tensor() { return header_->entries.back(); }
  std::string& metadata_value() { return header_->metadata[field_]; }

  // A value that is not a string: only metadata may hold it outside a shape.
  bool plain(const std::string& text) {
    if (!in_metadata() || depth_ < 2) fail("an object for each tensor", text);
    separate();
    metadata_value() += text;
    after_value_ = true;
    return true;
  }
  void separate() {
    if (depth_ > 2 && after_value_) metadata_value() += ",";
  }
  void open(const char* bracket) {
    if (depth_ == kMaxDepth) fail("at most 64 levels", "more");
    if (in_metadata() && depth_ >= 2) {
      separate();
      metadata_value() += bracket;
    }
    after_value_ = false;
    ++depth_;
  }
  bool close(const char* bracket) {
    --depth_;
    if (in_metadata() && depth_ >= 2) metadata_value() += bracket;
    after_value_ = depth_ > 2;
    return true;
  }
  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    const std::string where = name_.empty() ? "" : ", entry " + in_quotes(name_);
    throw Error(ErrorKind::kFormat, path_ + ": safetensors header" + where, expected, found,
                "the file is damaged: get it again");
  }

  const std::string& path_;
  SafetensorsHeader* header_;
  int depth_ = 0;
  bool after_value_ = false;  // inside metadata text: a comma comes before the next element
  std::string name_, field_;  // the keys being read at depth 1 and 2
  size_t offsets_seen_ = 0;
  std::set<std::string, std::less<>> names_, fields_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json) {
  // The parser would take an array or a lone value as well.
  if (json.empty() || json.front() != '{') {
    throw Error(ErrorKind::kFormat, path, "a safetensors header that starts with '{'",
                "another byte", "give a safetensors file");
  }
  SafetensorsHeader header;
  HeaderEvents events(path, &header);
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  return header;
}

}  // namespace focus
