// Token ids on whole corpora against the `tokenizers` library (tests/golden/make_corpus_ids.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "focus/base/files.h"
#include "focus/base/hash.h"
#include "focus/text/text_files.h"
#include "focus/text/tokenizer.h"

namespace focus {
namespace {

std::string setting(const char* variable, const std::string& otherwise) {
  const char* given = std::getenv(variable);
  return given != nullptr ? given : std::string(FOCUS_SOURCE_DIR) + otherwise;
}

TEST(Corpora, IdsEqualTheTokenizersLibraryAndDecodeToTheText) {
  const std::string data = setting("FOCUS_DATA", "/../shared/data");
  const std::string model = setting("FOCUS_MODEL_GGUF", "/out/models/smollm2.gguf");
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << "no corpora: set FOCUS_DATA to the data folder (looked in " << data << ")";
  if (!std::filesystem::exists(model))
    GTEST_SKIP() << "SmolLM2 is not here: run 'make model', or set FOCUS_MODEL_GGUF";
  const auto reference = nlohmann::json::parse(
      read_file(std::string(FOCUS_SOURCE_DIR) + "/tests/golden/corpus_ids.json"));
  const auto tokenizer = Tokenizer::from_gguf(GgufFile(model));
  ASSERT_GT(reference["files"].size(), 30u);
  for (const auto& [name, expected] : reference["files"].items()) {
    SCOPED_TRACE(name);
    const std::string text = read_text(data + "/" + name).text;
    const auto ids = tokenizer.encode(text);
    Hash64 hash;
    for (int32_t id : ids) hash.add(int64_t{id});
    EXPECT_EQ(static_cast<int64_t>(ids.size()), expected["ids"].get<int64_t>());
    EXPECT_EQ(hash.hex(), expected["hash"].get<std::string>());
    EXPECT_TRUE(tokenizer.decode(ids) == text);
  }
}

}  // namespace
}  // namespace focus
