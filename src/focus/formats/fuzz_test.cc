// Mutated files, the same ones in every run: whatever the bytes say, opening gives a model or a
// focus::Error, reading what was opened stays inside the mapping (the sanitizer builds see to
// that), and no allocation is out of proportion.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/base/test_folder.h"
#include "focus/formats/checkpoint.h"
#include "focus/formats/gguf.h"
#include "focus/formats/safetensors.h"
#include "focus/formats/tensor_info.h"
#include "focus/formats/test_models.h"

namespace {

std::atomic<size_t> largest_allocation{0};

void* counted_allocation(size_t size) {
  size_t largest = largest_allocation.load();
  while (size > largest && !largest_allocation.compare_exchange_weak(largest, size)) {
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Not inlined: g++ takes the malloc or free inside one for the wrong mate of the other.
[[gnu::noinline]] void* operator new(size_t size) { return counted_allocation(size); }
[[gnu::noinline]] void* operator new[](size_t size) { return counted_allocation(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace focus {
namespace {

constexpr int kMutations = 4000;
constexpr uint32_t kSeed = 20240607;

// Numbers that parsers trip over.
constexpr uint64_t kNasty[] = {0,
                               1,
                               0x7f,
                               0xff,
                               0x7fffffff,
                               0xffffffff,
                               uint64_t{1} << 32,
                               uint64_t{1} << 42,
                               uint64_t{1} << 60,
                               uint64_t{1} << 63,
                               ~uint64_t{0},
                               ~uint64_t{0} - 31};

std::string mutate(const std::string& original, size_t header_bytes, std::mt19937& random) {
  std::string bytes = original;
  const auto below = [&random](size_t n) { return n == 0 ? 0 : random() % n; };
  const size_t edits = 1 + below(3);
  for (size_t i = 0; i < edits && !bytes.empty(); ++i) {
    // The tables in front are where the parser's decisions are.
    const size_t at = below(std::min(bytes.size(), below(8) == 0 ? bytes.size() : header_bytes));
    const std::string number = raw_bytes(kNasty[below(std::size(kNasty))]);
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.replace(at, std::min<size_t>(8, bytes.size() - at), number);
        break;
      case 3:
        bytes.replace(at, std::min<size_t>(4, bytes.size() - at), number.substr(0, 4));
        break;
      case 4:
        bytes.erase(at, 1 + below(9));
        break;
      default:
        bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(9)));
    }
  }
  if (below(10) == 0) bytes.resize(below(bytes.size() + 1));
  return bytes;
}

void read_tensors(const std::vector<TensorInfo>& tensors) {
  for (const TensorInfo& tensor : tensors) {
    ASSERT_EQ(tensor.elements() / block_elements(tensor.dtype) * block_bytes(tensor.dtype),
              static_cast<int64_t>(tensor.bytes.size()));
    if (!is_expandable(tensor.dtype)) continue;
    std::vector<float> out(static_cast<size_t>(tensor.elements()));
    expand_f32(tensor.dtype, tensor.bytes, out);
  }
}

struct Counts {
  int opened = 0, refused = 0;
};

// Mutates `original`, writes it to `path` and calls `open`.
Counts run(const std::string& original, size_t header_bytes, const std::string& path,
           const TestFolder& folder, const std::function<void()>& open) {
  std::mt19937 random(kSeed);
  Counts counts;
  for (int i = 0; i < kMutations; ++i) {
    const std::string bytes = mutate(original, header_bytes, random);
    folder.write(path, bytes);
    largest_allocation = 0;
    try {
      open();
      ++counts.opened;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      ++counts.refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "mutation " << i << " of seed " << kSeed << ": " << error.what();
    }
    EXPECT_LE(largest_allocation.load(), 2 * bytes.size() + (size_t{64} << 20))
        << "mutation " << i << " of seed " << kSeed;
    if (testing::Test::HasFailure()) break;
  }
  return counts;
}

// Both outcomes must be common, or the mutations test little.
void expect_both(const Counts& counts) {
  EXPECT_GT(counts.opened, kMutations / 50);
  EXPECT_GT(counts.refused, kMutations / 10);
}

TEST(Fuzz, Gguf) {
  GgufBuilder builder = TinyModel(true).gguf();
  builder.add_array("words", 8, 2, gguf_string("a") + gguf_string("bc"));
  builder.add_array("numbers", 5, 2, raw_bytes(1) + raw_bytes(2));
  builder.tensors.resize(6);
  const std::string bytes = builder.build();
  const size_t header = bytes.size() - builder.tensors.back().offset;
  const TestFolder folder;
  expect_both(run(bytes, header, "m.gguf", folder, [&] {
    const GgufFile file(folder.at("m.gguf"));
    file.describe_metadata();
    read_tensors(file.tensors());
    for (const char* key : {"words", "numbers", "general.architecture"}) {
      if (!file.has(key)) continue;
      try {
        file.strings(key);
      } catch (const Error&) {
      }
      try {
        file.integers(key);
      } catch (const Error&) {
      }
    }
  }));
}

TEST(Fuzz, Safetensors) {
  const TestFolder folder;
  const std::vector<float> values(40, 0.5F);
  const auto bytes = std::as_bytes(std::span(values));
  write_safetensors(folder.at("f"),
                    {{"a", DType::kF32, {4, 10}, bytes}, {"b", DType::kF16, {80}, bytes}},
                    {{"format", "pt"}});
  const std::string original = read_file(folder.at("f"));
  expect_both(run(original, original.size() - 2 * bytes.size(), "f", folder, [&] {
    const SafetensorsFile file(folder.at("f"));
    read_tensors(file.tensors());
  }));
}

void read_all(const Checkpoint& checkpoint) {
  for (const Checkpoint::Weight& weight : checkpoint.weights()) {
    std::vector<float> out(static_cast<size_t>(element_count(weight.shape)));
    checkpoint.read_f32(weight.name, out);
  }
  checkpoint.sampled_hash();
}

TEST(Fuzz, GgufCheckpoint) {
  TinyModel model(false);
  const GgufBuilder builder = model.gguf();
  const std::string bytes = builder.build();
  const TestFolder folder;
  const Counts counts = run(bytes, bytes.size() - builder.tensors.back().offset, "m.gguf", folder,
                            [&] { read_all(Checkpoint(folder.at("m.gguf"))); });
  EXPECT_GT(counts.refused, kMutations / 10);
}

TEST(Fuzz, ConfigJson) {
  const TinyModel model(true);
  const TestFolder folder;
  model.write_folder(folder.path());
  const std::string config = model.config_json();
  const Counts counts = run(config, config.size(), "config.json", folder,
                            [&] { read_all(Checkpoint(folder.path())); });
  EXPECT_GT(counts.refused, kMutations / 10);
}

TEST(Fuzz, Index) {
  const TinyModel model(true);
  const TestFolder folder;
  model.write_folder(folder.path(), 2);
  const std::string name = "model.safetensors.index.json";
  const std::string index = read_file(folder.at(name));
  const Counts counts =
      run(index, index.size(), name, folder, [&] { read_all(Checkpoint(folder.path())); });
  EXPECT_GT(counts.refused, kMutations / 10);
}

}  // namespace
}  // namespace focus
