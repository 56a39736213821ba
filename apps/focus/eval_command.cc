#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "eval_report.h"
#include "focus/base/files.h"
#include "focus/eval/evaluate.h"
#include "loaded_model.h"
#include "progress.h"

namespace focus::app {
namespace {

struct Arguments {
  ModelArguments model;
  TextArguments text;
  EvalOptions options;
  std::string adapter, json, report;
  bool no_copy = false, strict = false;
  CLI::Option* json_option = nullptr;
};

std::string parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

void run(const Arguments& given) {
  EvalOptions options = given.options;
  if (given.no_copy) options.copy_windows = 0;
  LoadedModel model(given.model);
  const TokenWindows windows = model.windows(given.text);
  for (const auto& path : {given.json, given.report}) {
    if (!path.empty()) check_writable_directory(parent(path));
  }
  std::optional<Adapter> adapter;
  if (!given.adapter.empty()) adapter = load_adapter(given.adapter);
  model.load_weights();
  if (adapter) adapter = model.adapter(given.adapter, given.strict);
  Progress progress("eval");
  const EvalResult result = evaluate(
      *model.decoder, adapter ? &*adapter : nullptr, windows, options,
      [&](int64_t done, int64_t total) { progress.update(done, total); }, interrupted);
  progress.finish();
  const std::string json = to_json(result.rows).dump(2) + "\n";
  const bool json_only = given.json_option->count() > 0 && given.json.empty();
  if (!given.json.empty()) write_file_atomically(given.json, json);
  if (json_only) {
    fmt::print("{}", json);
  } else {
    fmt::print("{}", format_table(result.rows));
    fmt::print(
        "perplexity: {} windows of {} tokens side by side, {}, positions 1.. scored; copy: {} "
        "windows; dtype {}\n",
        result.windows, windows.tokens(), model.bos_rule(), result.copy_windows,
        compute_name(model.compute));
    if (adapter) {
      fmt::print(
          "keys kept a query by the adapter: mean {:.1f}, 99th percentile {}; scoring {:.4f} of "
          "the cost\n",
          result.kept_keys_mean, result.kept_keys_p99,
          result.rows.back().cost - result.rows.back().pairs);
    }
  }
  if (!given.report.empty())
    write_eval_report(given.report, model, windows, adapter ? &*adapter : nullptr, given.adapter,
                      result);
}

}  // namespace

Command add_eval(CLI::App& app) {
  auto given = std::make_shared<Arguments>();
  given->model.add(app);
  given->text.add(app);
  app.add_option("--adapter", given->adapter, "adapter folder; without it only the dense row")
      ->type_name("DIR");
  app.add_option("--windows", given->options.windows, "windows of each text, from its start")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--copy-windows", given->options.copy_windows, "windows of the copy test")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--no-copy", given->no_copy, "leave out the copy test (it needs 700 tokens)");
  app.add_option("--seed", given->options.seed, "of the random groups and sampled rows")
      ->type_name("N")
      ->capture_default_str();
  given->json_option =
      app.add_option("--json", given->json, "print the table as JSON, or write it to FILE")
          ->expected(0, 1)
          ->type_name("FILE");
  app.add_option("--report", given->report, "write an HTML report")->type_name("FILE");
  app.add_flag("--strict-base", given->strict,
               "refuse an adapter made for other weights of the same model");
  return [given] { run(*given); };
}

}  // namespace focus::app
