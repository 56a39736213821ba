#include "focus/formats/model_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "focus/base/error.h"

namespace focus {
namespace {

// Products of any three extents then fit in int64 with room to spare.
constexpr int64_t kMaxExtent = int64_t{1} << 20;
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxContext = std::numeric_limits<int32_t>::max();

void check_range(const std::string& subject, std::string_view name, int64_t value, int64_t max) {
  if (value < 1 || value > max) {
    throw Error(ErrorKind::kFormat, subject,
                std::string(name) + " from 1 to " + std::to_string(max), std::to_string(value));
  }
}

void check_positive(const std::string& subject, std::string_view name, double value) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    throw Error(ErrorKind::kFormat, subject, "a positive " + std::string(name),
                std::to_string(value));
  }
}

}  // namespace

const char* const kKnownArchitectures = "llama";

void check_config(const std::string& subject, const ModelConfig& config) {
  check_range(subject, "hidden size", config.hidden, kMaxExtent);
  check_range(subject, "number of layers", config.layers, kMaxLayers);
  check_range(subject, "number of heads", config.heads, kMaxExtent);
  check_range(subject, "number of key/value heads", config.kv_heads, config.heads);
  check_range(subject, "head size", config.head_dim, kMaxExtent);
  check_range(subject, "intermediate size", config.intermediate, kMaxExtent);
  check_range(subject, "vocabulary size", config.vocab, int64_t{1} << 24);
  check_range(subject, "context length", config.context, kMaxContext);
  check_positive(subject, "rope_theta", config.rope_theta);
  check_positive(subject, "norm epsilon", config.norm_epsilon);
  if (config.heads % config.kv_heads != 0) {
    throw Error(ErrorKind::kFormat, subject, "heads in equal groups per key/value head",
                std::to_string(config.heads) + " heads, " + std::to_string(config.kv_heads) +
                    " key/value heads");
  }
  if (config.head_dim % 2 != 0) {
    throw Error(ErrorKind::kFormat, subject, "an even head size (rotary pairs)",
                std::to_string(config.head_dim));
  }
  std::vector<int32_t> ids = config.eos;
  if (config.bos) ids.push_back(*config.bos);
  for (const int32_t id : ids) {
    if (id < 0 || id >= config.vocab) {
      throw Error(ErrorKind::kFormat, subject,
                  "bos and eos ids below the vocabulary size " + std::to_string(config.vocab),
                  std::to_string(id));
    }
  }
}

}  // namespace focus
