#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "focus/base/error.h"
#include "focus/infer/generator.h"
#include "focus/text/chat_template.h"
#include "loaded_model.h"

namespace focus::app {
namespace {

struct Arguments {
  ModelArguments model;
  AdapterArguments adapter;
  std::string system;
  std::vector<std::string> prompts;
  GenerationOptions options;
  bool chat = false, batch_invariant = false, ignore_eos = false, json = false, special = false;
};

// "\n" and "\t" as people type them in a shell.
std::string unescape(const std::string& text) {
  std::string out;
  for (size_t n = 0; n < text.size(); ++n) {
    if (text[n] == '\\' && n + 1 < text.size() &&
        (text[n + 1] == 'n' || text[n + 1] == 't' || text[n + 1] == '\\')) {
      ++n;
      out += text[n] == 'n' ? '\n' : text[n] == 't' ? '\t' : '\\';
    } else {
      out += text[n];
    }
  }
  return out;
}

std::vector<int32_t> encode(const LoadedModel& model, const Arguments& given,
                            const std::optional<ChatTemplate>& chat, const std::string& prompt) {
  if (chat) {
    std::vector<ChatMessage> messages;
    if (!given.system.empty()) messages.push_back({"system", given.system});
    messages.push_back({"user", prompt});
    return chat->encode(model.tokenizer, messages);
  }
  auto ids = model.tokenizer.encode(prompt, given.special);
  const auto& config = model.checkpoint.config();
  if (config.add_bos && config.bos && (ids.empty() || ids.front() != *config.bos))
    ids.insert(ids.begin(), *config.bos);
  return ids;
}

void run(const Arguments& given) {
  given.options.sampling.check();
  std::vector<std::string> prompts = given.prompts;
  if (prompts.empty())
    prompts.emplace_back(std::istreambuf_iterator<char>(std::cin),
                         std::istreambuf_iterator<char>());
  LoadedModel model(given.model);
  std::optional<ChatTemplate> chat;
  if (given.chat) chat = ChatTemplate::of(model.checkpoint);
  std::vector<std::vector<int32_t>> encoded;
  for (const auto& prompt : prompts) {
    encoded.push_back(encode(model, given, chat, prompt));
    const int64_t length = static_cast<int64_t>(encoded.back().size()),
                  context = model.checkpoint.config().context;
    if (length == 0)
      throw Error(ErrorKind::kUsage, "prompt", "some text (--prompt, or standard input)", "none");
    if (length >= context) {
      throw Error(ErrorKind::kUsage, "prompt",
                  "fewer than " + std::to_string(context) + " tokens (the model's context)",
                  std::to_string(length));
    }
  }
  const auto adapter = adapter_of(given.adapter);
  model.load_weights(given.batch_invariant);
  if (adapter) model.check(*adapter, given.adapter.strict);
  const Mask mask = adapter ? adapter->mask("adapter") : Mask{"dense", Rule::dense(), nullptr};
  catch_interrupts();
  GenerationOptions options = given.options;
  if (!given.ignore_eos) options.eos = model.checkpoint.config().eos;
  for (auto& stop : options.stop) stop = unescape(stop);
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  // Each prompt by itself and with the same seed: its text is the one it has alone.
  for (size_t n = 0; n < prompts.size() && !interrupted; ++n) {
    const bool plain = !given.json;
    if (plain && prompts.size() > 1) fmt::print("{}=== {}\n", n > 0 ? "\n" : "", n + 1);
    const auto result = generate(*model.decoder, model.tokenizer, mask, encoded[n], options,
                                 plain ? [](const std::string& piece) {
                                   fmt::print("{}", piece);
                                   std::fflush(stdout);
                                 } : std::function<void(const std::string&)>{},
                                 interrupted);
    if (plain) fmt::print("\n");
    out.push_back({{"prompt", prompts[n]},
                   {"prompt_tokens", encoded[n].size()},
                   {"text", result.text},
                   {"tokens", result.ids.size()},
                   {"finish_reason", to_string(result.reason)},
                   {"pairs", result.pairs.share()}});
  }
  if (given.json)
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

Command add_generate(CLI::App& app) {
  auto given = std::make_shared<Arguments>();
  given->model.add(app);
  auto& options = given->options;
  app.add_option("--prompt", given->prompts,
                 "text to continue, once for each prompt (default: standard input)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT");
  CLI::Option* chat =
      app.add_flag("--chat", given->chat, "put the prompt into the model's chat format");
  app.add_option("--system", given->system, "system message of --chat")
      ->needs(chat)
      ->type_name("TEXT");
  given->adapter.add(app, "dense attention");
  add_number(app, "--max-tokens", options.max_tokens, "new tokens at most", 1, 1 << 24);
  auto& sampling = options.sampling;
  add_number(app, "--temperature", sampling.temperature, "0: always the likeliest token", 0, 1e6);
  add_number(app, "--top-k", sampling.top_k, "draw among the k likeliest (0: all)", 0, 1e9);
  add_number(app, "--top-p", sampling.top_p, "draw among the likeliest of this mass", 0, 1);
  add_number(app, "--seed", sampling.seed, "same seed, same draws", 0, 9e15);
  app.add_option("--stop", options.stop,
                 "end before this text (\\n, \\t understood); may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT");
  app.add_flag("--ignore-eos", given->ignore_eos, "go on past the end-of-text token");
  app.add_flag("--special", given->special, "control tokens written in a raw prompt become tokens");
  app.add_flag("--batch-invariant", given->batch_invariant,
               "prefill, chunks and single tokens bit-equal (slower)");
  add_number(app, "--prefill-chunk", options.prefill_chunk, "prompt tokens at once", 1, 1 << 20);
  app.add_flag("--json", given->json, "print results as JSON instead of streaming");
  app.footer("Example: focus generate --model DIR --adapter adapter --prompt 'In the beginning'");
  return [given] { run(*given); };
}

}  // namespace focus::app
