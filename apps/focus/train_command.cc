#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "describe.h"
#include "focus/base/files.h"
#include "focus/text/text_files.h"
#include "focus/train/trainer.h"
#include "loaded_model.h"
#include "output_folder.h"
#include "progress.h"

namespace focus::app {
namespace {

struct Arguments {
  ModelArguments model;
  TextArguments text;
  TrainOptions options;
  std::string out, features = "qk", heads = "kv", membership = "partition", read = "budget",
                   balance = "none";
};

// A line a training step; written at the end beside the adapter.
class Metrics {
 public:
  void add(const TrainProgress& now) {
    if (!now.loss) return;
    nlohmann::ordered_json line{{"step", now.step}, {"loss", *now.loss}};
    if (now.heldout_loss) line["heldout_loss"] = *now.heldout_loss;
    lines_ += line.dump() + "\n";
  }
  const std::string& text() const { return lines_; }

 private:
  std::string lines_;
};

// The names of the texts, without where they lie on this machine.
std::string file_names(const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  for (const auto& path : expand_patterns(patterns))
    names.push_back(std::filesystem::path(path).filename());
  constexpr size_t kShown = 8;
  const size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, " "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

void run(const Arguments& given) {
  TrainOptions options = given.options;
  options.spec.features = parse_enum<RoutingSpec::Features>("--features", given.features);
  options.spec.heads = parse_enum<RoutingSpec::Heads>("--heads", given.heads);
  options.spec.membership = parse_enum<RoutingSpec::Membership>("--membership", given.membership);
  options.spec.read = parse_enum<RoutingSpec::Read>("--read", given.read);
  options.spec.balance = parse_enum<RoutingSpec::Balance>("--balance", given.balance);
  options.spec.check();
  check_budget(options, given.text.tokens);

  LoadedModel model(given.model);
  check_output_folder(given.out);
  const TokenWindows windows = model.windows(given.text);
  model.load_weights();
  const auto base = model.identity();
  fmt::print(stderr, "model   {} ({} parameters, {})\n", given.model.model,
             model.decoder->weight_count(), compute_name(model.compute));
  fmt::print(stderr, "text    {} tokens from {} file(s), windows of {}\n", windows.total(),
             windows.texts(), windows.tokens());
  fmt::print(stderr, "routing {}; {}\n", routing_text(options.spec), rule_text(options.rule));
  catch_interrupts();
  Progress progress("train");
  Metrics metrics;
  std::string note;
  auto result = train_adapter(
      *model.decoder, windows, base, options,
      [&](const TrainProgress& now) {
        metrics.add(now);
        if (now.loss) note = fmt::format("loss {:.3f}", *now.loss);
        progress.update(now.done, now.total,
                        std::string(now.phase) + (note.empty() ? "" : " " + note));
      },
      interrupted);
  progress.finish();
  result.adapter.calibration = {
      {"texts", file_names(given.text.patterns)},
      {"tokens_read", std::to_string(windows.total())},
      {"window", std::to_string(windows.tokens())},
      {"windows", fmt::format("{} calibration, {} training steps, {} fitting",
                              result.calibration_windows, result.steps_done, result.fit_windows)},
      {"seed", std::to_string(options.seed)},
      {"dtype", std::string(compute_name(model.compute))},
      {"cost", fmt::format("{:.4f} (pairs {:.4f}) on fitting windows", result.cost, result.pairs)},
  };
  OutputFolder out(given.out);
  save_adapter(out.staging(), result.adapter);
  write_file_atomically(out.staging() + "/metrics.jsonl", metrics.text());
  out.commit("focus_config.json");
  if (result.interrupted)
    fmt::print(stderr, "stopped early: the adapter holds what {} training steps taught it\n",
               result.steps_done);
  if (!result.interrupted && !options.spec.tied && result.steps_done < options.steps)
    fmt::print(stderr, "the clock ended training after {} of {} steps: raise --minutes for more\n",
               result.steps_done, options.steps);
  const int64_t parameters = result.adapter.parameter_count();
  fmt::print(
      "adapter {}: {} parameters ({:.2f}% of the model), pairs {:.4f}, cost {:.4f} at T = {}\n",
      given.out, parameters,
      100.0 * static_cast<double>(parameters) / static_cast<double>(model.decoder->weight_count()),
      result.pairs, result.cost, windows.tokens());
  const auto step = result.step_over_forward > 0
                        ? fmt::format("a training step costs {:.2f} times a dense forward pass; ",
                                      result.step_over_forward)
                        : std::string();
  fmt::print("{:.0f} s; {}peak memory {} MiB, weights {} MiB\n", result.seconds, step,
             peak_memory() >> 20, expanded_bytes(model.checkpoint, model.compute) >> 20);
}

}  // namespace

Command add_train(CLI::App& app) {
  auto given = std::make_shared<Arguments>();
  given->model.add(app);
  given->text.add(app);
  auto& options = given->options;
  const auto number = [&](const char* name, auto& value, const char* about, double low,
                          double high) { return add_number(app, name, value, about, low, high); };
  add_path(app, "--out", given->out, "adapter folder to write", "DIR")->required();
  number("--cost", options.cost, "budget: kept pairs + scoring, of all causal pairs", 0.001, 1);
  number("--minutes", options.minutes, "stop training by then", 0.01, 1e6);
  number("--steps", options.steps, "training windows", 0, 1e9);
  number("--calibration-windows", options.calibration_windows,
         "for the key groups (0: 32, more for many groups)", 0, 1e9);
  number("--learning-rate", options.learning_rate, "AdamW peak", 1e-9, 10);
  number("--seed", options.seed, "same seed, same adapter", 0, 9e15);

  const char* routing = "Routing";
  const auto choice = [&](const char* name, std::string& value, const char* about) {
    app.add_option(name, value, about)->type_name("KIND")->capture_default_str()->group(routing);
  };
  auto& rule = options.rule;
  auto& spec = options.spec;
  number("--window", rule.window, "keys this near are always kept", 0, 1e9)->group(routing);
  number("--sinks", rule.sinks, "first keys, always kept", 0, 1e9)->group(routing);
  number("--dense-until", rule.dense_until, "earlier queries keep every key", 0, 1e9)
      ->group(routing);
  number("--groups", spec.groups, "groups of keys", 2, 1024)->group(routing);
  number("--rank", spec.rank, "width of the projected features (d_g)", 1, 1024)->group(routing);
  number("--members", spec.members, "groups of a key", 1, 1024)->group(routing);
  choice("--features", given->features, "what is routed: qk (before RoPE) or input (the paper's)");
  choice("--heads", given->heads, "a router per kv head or per layer");
  choice("--membership", given->membership, "partition or threshold");
  choice("--read", given->read, "groups read: budget (fitted per head), top or mass");
  number("--read-mass", spec.read_mass, "of --read mass: share of the predicted mass", 0.001, 1)
      ->group(routing);
  choice("--balance", given->balance, "none, frozen or running");
  app.add_flag("--tied", spec.tied,
               "queries read the groups of their own token (needs --features input)")
      ->group(routing);
  app.footer("Example: focus train --model DIR --text 'books/*.txt' --out adapter");
  return [given] { run(*given); };
}

}  // namespace focus::app
