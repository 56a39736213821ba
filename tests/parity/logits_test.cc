// Dense logits against transformers (tests/golden/README.md says how the files were made).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "focus/base/files.h"
#include "focus/infer/generator.h"
#include "models.h"

namespace focus::testing {
namespace {

nlohmann::json load_json(const std::string& name) {
  return nlohmann::json::parse(read_file(golden(name)));
}

at::Tensor dense_logits(const Decoder& decoder, const std::vector<int32_t>& ids,
                        const std::vector<int64_t>& pieces) {
  MaskedAttention dense({"dense", Rule::dense(), nullptr});
  auto cache = decoder.new_cache();
  return run(decoder, dense, ids, pieces, cache);
}

double mean_nll(const at::Tensor& logits, const std::vector<int32_t>& ids) {
  const auto next =
      at::tensor(std::vector<int32_t>(ids.begin() + 1, ids.end()), at::kInt).to(at::kLong);
  const auto before = logits.narrow(0, 0, logits.size(0) - 1).to(at::kDouble);
  return (at::logsumexp(before, 1) - before.gather(1, next.unsqueeze(1)).squeeze(1))
      .mean()
      .item<double>();
}

std::vector<int32_t> greedy(const Decoder& decoder, const Tokenizer& tokenizer,
                            const std::vector<int32_t>& prompt, int64_t count) {
  const std::atomic<bool> never{false};
  return generate(decoder, tokenizer, {"dense", Rule::dense(), nullptr}, prompt,
                  {.max_tokens = count}, {}, never)
      .ids;
}

class TinyLlama : public ::testing::TestWithParam<const char*> {};

// fp32 rounding of the reference itself is fp32_noise (against double); ours may err as much, in
// another order of sums.
TEST_P(TinyLlama, LogitsAndGreedyTextEqualTransformers) {
  const auto reference = load_json("tiny_llama_logits.json");
  const auto decoder = load(golden(GetParam()), ComputeType::kF32);
  const auto tokenizer = Tokenizer::from_json(golden("tiny_llama/tokenizer.json"));
  for (const auto& sequence : reference["sequences"]) {
    const auto ids = sequence["ids"].get<std::vector<int32_t>>();
    const auto count = static_cast<int64_t>(ids.size());
    std::vector<float> flat;
    for (const auto& row : sequence["logits"]) {
      for (const auto& value : row) flat.push_back(value.get<float>());
    }
    const auto expected = at::tensor(flat).view({count, -1});
    const double tolerance = 4 * sequence["fp32_noise"].get<double>();
    const auto once = dense_logits(decoder, ids, {count});
    EXPECT_LE((once - expected).abs().max().item<double>(), tolerance);
    const auto one_by_one = dense_logits(decoder, ids, std::vector<int64_t>(count, 1));
    EXPECT_LE((one_by_one - expected).abs().max().item<double>(), tolerance) << "through the cache";
    const auto wanted = sequence["greedy"].get<std::vector<int32_t>>();
    EXPECT_EQ(greedy(decoder, tokenizer, ids, static_cast<int64_t>(wanted.size())), wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, TinyLlama,
                         ::testing::Values("tiny_llama", "tiny_llama_sharded", "tiny_llama.gguf"));

class RealModel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (real_model().empty())
      GTEST_SKIP() << "SmolLM2 is not here: run 'make model', or set FOCUS_MODEL_GGUF";
  }
  static void check(const nlohmann::json& positions, const nlohmann::json& probes,
                    const at::Tensor& logits, double tolerance) {
    const auto index = at::tensor(probes.get<std::vector<int64_t>>());
    for (const auto& position : positions) {
      const auto row = logits[position["position"].get<int64_t>()];
      const auto expected = at::tensor(position["probes"].get<std::vector<float>>());
      EXPECT_LE((row.index_select(0, index) - expected).abs().max().item<double>(), tolerance)
          << position["position"];
      EXPECT_NEAR(at::logsumexp(row, 0).item<double>(), position["logsumexp"].get<double>(),
                  tolerance);
      for (const auto& best : position["top"]) {
        EXPECT_NEAR(row[best[0].get<int64_t>()].item<double>(), best[1].get<double>(), tolerance);
      }
    }
  }
};

TEST_F(RealModel, Fp32LogitsEqualTransformers) {
  const auto reference = load_json("smollm2_logits.json");
  const auto decoder = load(real_model(), ComputeType::kF32);
  const auto ids = reference["ids"].get<std::vector<int32_t>>();
  const double tolerance = 4 * reference["fp32_noise"].get<double>();
  ASSERT_LE(tolerance, 1e-3);
  const auto logits = dense_logits(decoder, ids, {static_cast<int64_t>(ids.size())});
  check(reference["positions"], reference["probe_ids"], logits, tolerance);
  EXPECT_NEAR(mean_nll(logits, ids), reference["mean_nll"].get<double>(), 1e-5);

  const auto tokenizer = Tokenizer::from_gguf(GgufFile(real_model()));
  EXPECT_EQ(tokenizer.encode(reference["text"].get<std::string>()), ids);
  const auto wanted = reference["greedy"].get<std::vector<int32_t>>();
  EXPECT_EQ(greedy(decoder, tokenizer, ids, static_cast<int64_t>(wanted.size())), wanted);
}

TEST_F(RealModel, AWholeWindowEqualsTransformersInFp32AndNearlyInBf16) {
  const auto reference = load_json("smollm2_logits.json");
  auto ids = load_json("sample_ids.json")["ids"].get<std::vector<int32_t>>();
  ids.resize(1024);
  const auto exact = dense_logits(load(real_model(), ComputeType::kF32), ids, {1024});
  check(reference["window_positions"], reference["probe_ids"], exact,
        4 * reference["fp32_noise"].get<double>());
  EXPECT_NEAR(mean_nll(exact, ids), reference["window_mean_nll"].get<double>(), 1e-5);
  // bf16 rounds each of the 211 products' outputs to 8 bits; the errors are independent and average
  // out.
  const auto rounded = dense_logits(load(real_model(), ComputeType::kBF16), ids, {1024});
  EXPECT_NEAR(mean_nll(rounded, ids), reference["window_mean_nll"].get<double>(), 0.01);
}

}  // namespace
}  // namespace focus::testing
