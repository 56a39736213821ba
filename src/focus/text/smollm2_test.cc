// The real tokenizer of SmolLM2-135M-Instruct, where its file is at hand: FOCUS_MODEL_GGUF, or
// out/models/smollm2.gguf, and FOCUS_MODELS/SmolLM2-135M-Instruct for the folder form.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "focus/text/chat_template.h"
#include "focus/text/text_test_data.h"

namespace focus {
namespace {

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::string gguf_path() {
  return from_environment("FOCUS_MODEL_GGUF",
                          std::string(FOCUS_SOURCE_DIR) + "/out/models/smollm2.gguf");
}

std::string folder_path() {
  return from_environment("FOCUS_MODELS", std::string(FOCUS_SOURCE_DIR) + "/out/models") +
         "/SmolLM2-135M-Instruct";
}

void expect_golden_ids(const Tokenizer& tokenizer) {
  for (const char* name : {"smollm2_reference.json", "smollm2_ids.json"}) {
    const Json rows = test_data(name);
    ASSERT_GE(rows.size(), 24U);
    for (const Json& row : rows) {
      EXPECT_EQ(tokenizer.encode(row["text"].get<std::string>()), row["ids"].get<Ids>())
          << row["text"];
    }
  }
}

void expect_golden_chats(const Tokenizer& tokenizer, const ChatTemplate& chat) {
  EXPECT_EQ(chat.name(), "chatml");
  const Json prompts = test_data("golden_chat.json")["smollm2"];
  ASSERT_GE(prompts.size(), 4U);
  for (const Json& prompt : prompts) {
    std::vector<ChatMessage> messages;
    for (const Json& each : prompt["messages"]) {
      messages.push_back({each["role"], each["content"]});
    }
    EXPECT_EQ(chat.encode(tokenizer, messages), prompt["ids"].get<Ids>()) << prompt["messages"];
  }
}

TEST(Smollm2Test, GgufGivesTheReferenceIds) {
  if (!std::filesystem::exists(gguf_path())) {
    GTEST_SKIP() << "no model at " << gguf_path() << ": set FOCUS_MODEL_GGUF";
  }
  const Checkpoint checkpoint(gguf_path());
  const Tokenizer tokenizer = Tokenizer::from_gguf(*checkpoint.gguf());
  expect_golden_ids(tokenizer);
  expect_golden_chats(tokenizer, ChatTemplate::of(checkpoint));
}

TEST(Smollm2Test, FolderGivesTheReferenceIds) {
  const std::string path = folder_path() + "/tokenizer.json";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no tokenizer at " << path << ": set FOCUS_MODELS";
  }
  const Tokenizer tokenizer = Tokenizer::from_json(path);
  expect_golden_ids(tokenizer);
  const Checkpoint checkpoint(folder_path());
  expect_golden_chats(tokenizer, ChatTemplate::of(checkpoint));
  if (std::filesystem::exists(gguf_path())) {
    EXPECT_EQ(Tokenizer::from_gguf(GgufFile(gguf_path())).hash(), tokenizer.hash());
  }
}

}  // namespace
}  // namespace focus
