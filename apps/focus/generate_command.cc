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
  std::string adapter, system;
  std::vector<std::string> prompts;
  GenerationOptions options;
  bool chat = false, batch_invariant = false, ignore_eos = false, json = false, strict = false,
       special = false;
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
  if (!given.adapter.empty()) load_adapter(given.adapter);
  model.load_weights(given.batch_invariant);
  Mask mask{"dense", Rule::dense(), nullptr};
  if (!given.adapter.empty()) mask = model.adapter(given.adapter, given.strict).mask("adapter");
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
  app.add_option("--adapter", given->adapter, "adapter folder; without it dense attention")
      ->type_name("DIR");
  app.add_option("--prompt", given->prompts,
                 "text to continue, once for each prompt (default: standard input)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT");
  app.add_flag("--chat", given->chat, "put the prompt into the model's chat format");
  app.add_option("--system", given->system, "system message of --chat")->type_name("TEXT");
  app.add_option("--max-tokens", options.max_tokens, "new tokens at most")
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--temperature", options.sampling.temperature, "0: always the likeliest token")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--top-k", options.sampling.top_k, "draw among the k likeliest (0: all)")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--top-p", options.sampling.top_p, "draw among the likeliest of this mass")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--seed", options.sampling.seed, "same seed, same draws")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--stop", options.stop,
                 "end before this text (\\n, \\t understood); may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT");
  app.add_flag("--ignore-eos", given->ignore_eos, "go on past the end-of-text token");
  app.add_flag("--special", given->special, "control tokens written in a raw prompt become tokens");
  app.add_flag("--batch-invariant", given->batch_invariant,
               "prefill, chunks and single tokens bit-equal (slower)");
  app.add_option("--prefill-chunk", options.prefill_chunk, "prompt tokens at once")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--json", given->json, "print results as JSON instead of streaming");
  app.add_flag("--strict-base", given->strict,
               "refuse an adapter made for other weights of the same model");
  return [given] { run(*given); };
}

}  // namespace focus::app
