#include "focus/formats/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "focus/base/error.h"
#include "focus/base/hash.h"
#include "focus/formats/hf_folder.h"
#include "focus/formats/llama_weights.h"

namespace focus {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSampleBlocks = 16;
constexpr size_t kSampleBytes = 256;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

bool same_bytes(const TensorInfo& a, const TensorInfo& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

void add_samples(Hash64* hash, std::span<const std::byte> bytes) {
  if (bytes.size() <= kSampleBlocks * kSampleBytes) {
    hash->add(bytes);
    return;
  }
  const size_t last = bytes.size() - kSampleBytes;
  for (size_t i = 0; i < kSampleBlocks; ++i) {
    const size_t at = last / (kSampleBlocks - 1) * i;
    hash->add(bytes.subspan(i + 1 == kSampleBlocks ? last : at, kSampleBytes));
  }
}

}  // namespace

struct Checkpoint::Impl {
  struct Source {
    const TensorInfo* tensor;
    int64_t permuted_heads;
  };

  std::string path;
  ModelConfig config;
  std::optional<GgufFile> gguf;
  HfFolder folder;
  std::map<std::string, const TensorInfo*> stored;  // by the file's own names
  std::vector<Weight> weights;
  std::map<std::string, Source, std::less<>> sources;  // by Hugging Face's names

  void open(const std::string& where);
  void open_folder();
  void open_gguf();
  void settle_tie(std::optional<bool> flag);
  void bind();
  void refuse_unknown(const std::vector<WeightSpec>& specs) const;
  size_t naming() const { return gguf ? 1 : 0; }
  const TensorInfo* find(std::string_view name) const {
    const auto found = stored.find(std::string(name));
    return found == stored.end() ? nullptr : found->second;
  }
};

void Checkpoint::Impl::open(const std::string& where) {
  path = where;
  std::error_code ignored;
  if (fs::is_directory(where, ignored)) {
    open_folder();
  } else {
    open_gguf();
  }
  bind();
}

void Checkpoint::Impl::open_folder() {
  if (std::error_code ignored; !fs::exists(path + "/config.json", ignored)) {
    throw Error(ErrorKind::kNotFound, path, "a model folder with config.json", "none",
                "give a Hugging Face model folder or one GGUF file");
  }
  HfConfig hf = read_hf_config(path);
  config = std::move(hf.config);
  folder = open_hf_folder(path);
  stored = folder.tensors;
  settle_tie(hf.tied);
}

void Checkpoint::Impl::open_gguf() {
  if (path.ends_with(".safetensors")) {
    throw Error(ErrorKind::kUsage, path, "a model folder or a GGUF file", "one safetensors file",
                "give the folder that holds it and its config.json");
  }
  gguf.emplace(path);
  config = read_gguf_config(*gguf);
  for (const TensorInfo& tensor : gguf->tensors()) stored.emplace(tensor.name, &tensor);
  // Long-context models of the family keep their rope scaling in this table.
  if (find("rope_freqs.weight") != nullptr) {
    throw Error(ErrorKind::kUnsupported, path, "no rope scaling", "a table 'rope_freqs.weight'",
                "use another model");
  }
  settle_tie(std::nullopt);
}

// The flag is often wrong or absent, so what is stored decides: without a head the embedding is the
// head, unless the flag denies it; a head that differs from the embedding is kept, whatever the
// flag says.
void Checkpoint::Impl::settle_tie(std::optional<bool> flag) {
  const TensorInfo* head = find(kLlamaHead[naming()]);
  const TensorInfo* embedding = find(kLlamaEmbedding[naming()]);
  if (head == nullptr) {
    config.tied_embeddings = flag.value_or(true);
  } else {
    config.tied_embeddings =
        flag.value_or(true) && embedding != nullptr && same_bytes(*head, *embedding);
  }
}

void Checkpoint::Impl::bind() {
  const std::vector<WeightSpec> specs = llama_weights(config);
  for (const WeightSpec& spec : specs) {
    const std::string& name = gguf ? spec.gguf_name : spec.name;
    const TensorInfo* tensor = find(name);
    if (tensor == nullptr) {
      throw Error(ErrorKind::kNotFound, path, "tensor " + in_quotes(name), "none",
                  "the model is incomplete or its config is of another one");
    }
    const std::string subject = path + ": tensor " + in_quotes(name);
    if (tensor->shape != spec.shape) {
      throw Error(ErrorKind::kMismatch, subject, "shape " + shape_text(spec.shape) + " (config)",
                  shape_text(tensor->shape), "weights and config are of different models");
    }
    if (!is_expandable(tensor->dtype)) {
      throw Error(ErrorKind::kUnsupported, subject, "a floating-point or quantised type",
                  std::string(dtype_name(tensor->dtype)), "save the model in F32, F16 or BF16");
    }
    weights.push_back({spec.name, tensor->dtype, spec.shape});
    sources.emplace(spec.name, Source{tensor, gguf ? spec.permuted_heads : 0});
  }
  refuse_unknown(specs);
}

// A tensor that nothing reads (a bias, a norm of another family) means that the model is not what
// its config says.
void Checkpoint::Impl::refuse_unknown(const std::vector<WeightSpec>& specs) const {
  std::set<std::string_view> known = {kLlamaHead[naming()]};
  for (const WeightSpec& spec : specs) known.insert(gguf ? spec.gguf_name : spec.name);
  for (const auto& [name, tensor] : stored) {
    if (known.contains(name) || is_llama_derived(name)) continue;
    throw Error(ErrorKind::kUnsupported, path, "the weights of a " + config.architecture + " model",
                "also a tensor " + in_quotes(name), "use another model");
  }
}

Checkpoint::Checkpoint(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->open(path);
}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

const std::string& Checkpoint::path() const { return impl_->path; }
const ModelConfig& Checkpoint::config() const { return impl_->config; }
const GgufFile* Checkpoint::gguf() const { return impl_->gguf ? &*impl_->gguf : nullptr; }
const std::vector<Checkpoint::Weight>& Checkpoint::weights() const { return impl_->weights; }

void Checkpoint::read_f32(const std::string& name, std::span<float> out) const {
  const auto found = impl_->sources.find(name);
  if (found == impl_->sources.end()) {
    throw Error(ErrorKind::kNotFound, impl_->path, "weight " + in_quotes(name), "none");
  }
  const TensorInfo& tensor = *found->second.tensor;
  if (static_cast<int64_t>(out.size()) != tensor.elements()) {
    throw Error(ErrorKind::kUsage, impl_->path + ": weight " + in_quotes(name),
                "room for " + std::to_string(tensor.elements()) + " elements",
                std::to_string(out.size()));
  }
  const int64_t heads = found->second.permuted_heads;
  if (heads == 0) {
    expand_f32(tensor.dtype, tensor.bytes, out);
    return;
  }
  // Within a head, stored row 2i + s is the rotary pair's half s of pair i: row s * head_dim / 2 +
  // i here.
  const int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  const int64_t head_dim = rows / heads;
  const auto row_bytes = tensor.bytes.size() / static_cast<size_t>(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t head = row / head_dim, within = row % head_dim;
    const int64_t half = within / (head_dim / 2), pair = within % (head_dim / 2);
    const int64_t stored_row = head * head_dim + 2 * pair + half;
    expand_f32(tensor.dtype,
               tensor.bytes.subspan(static_cast<size_t>(stored_row) * row_bytes, row_bytes),
               out.subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns)));
  }
}

std::string Checkpoint::sampled_hash() const {
  Hash64 hash;
  for (const Weight& weight : impl_->weights) {
    const TensorInfo& tensor = *impl_->sources.find(weight.name)->second.tensor;
    hash.add(weight.name);
    hash.add(dtype_name(weight.dtype));
    for (const int64_t extent : weight.shape) hash.add(extent);
    add_samples(&hash, tensor.bytes);
  }
  return hash.hex();
}

}  // namespace focus
