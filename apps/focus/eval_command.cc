#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "eval_report.h"
#include "focus/base/error.h"
#include "focus/eval/evaluate.h"
#include "focus/nn/routing_record.h"
#include "loaded_model.h"
#include "output_folder.h"
#include "progress.h"

namespace focus::app {
namespace {

struct Arguments {
  ModelArguments model;
  TextArguments text;
  EvalOptions options;
  AdapterArguments adapter;
  std::string json, report, record;
  bool no_copy = false;
  CLI::Option* json_option = nullptr;
};

// What the adapter decides in the first window of the first text.
RecordedRouting recorded_routing(const LoadedModel& model, const Adapter& adapter,
                                 const TokenWindows& windows) {
  const at::NoGradGuard frozen;
  const auto& config = model.decoder->config();
  const auto path = std::filesystem::absolute(model.arguments.model).lexically_normal();
  RecordedRouting routing{
      .rule = adapter.rule,
      .model = (path.has_filename() ? path : path.parent_path()).filename().string(),
      .heads = config.heads,
      .kv_heads = config.kv_heads,
      .head_dim = config.head_dim,
      .reads = adapter.reads()};
  MaskedAttention attention(adapter.mask("adapter"));
  attention.record(&routing.record);
  auto cache = model.decoder->new_cache();
  model.decoder->forward(
      windows.side_by_side(0, 0), cache,
      [&](const LayerInputs& inputs, LayerCache& layer) { return attention(inputs, layer); });
  return routing;
}

void run(const Arguments& given) {
  EvalOptions options = given.options;
  if (given.no_copy) options.copy_windows = 0;
  if (!given.record.empty() && given.adapter.folder.empty())
    throw Error(ErrorKind::kUsage, "--record-routing", "an --adapter whose routing to record",
                "none");
  LoadedModel model(given.model);
  const auto adapter = adapter_of(given.adapter);
  for (const auto& path : {given.json, given.report, given.record}) {
    if (!path.empty()) check_output_file(path);
  }
  const TokenWindows windows = model.windows(given.text);
  model.load_weights();
  if (adapter) model.check(*adapter, given.adapter.strict);
  catch_interrupts();
  Progress progress("eval");
  const EvalResult result = evaluate(
      *model.decoder, adapter ? &*adapter : nullptr, windows, options,
      [&](int64_t done, int64_t total) { progress.update(done, total); }, interrupted);
  progress.finish();
  if (!given.record.empty()) {
    MadeFolders folders(parent_folder(given.record));
    save_routing_record(given.record, recorded_routing(model, *adapter, windows));
    folders.keep();
  }
  const std::string json = to_json(result.rows).dump(2) + "\n";
  const bool json_only = given.json_option->count() > 0 && given.json.empty();
  if (!given.json.empty()) write_output_file(given.json, json);
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
    write_eval_report(given.report, model, windows, adapter ? &*adapter : nullptr,
                      given.adapter.folder, result);
}

}  // namespace

Command add_eval(CLI::App& app) {
  auto given = std::make_shared<Arguments>();
  given->model.add(app);
  given->text.add(app);
  given->adapter.add(app, "only the dense row");
  auto& options = given->options;
  add_number(app, "--windows", options.windows, "windows of each text, from its start", 1, 1e9);
  add_number(app, "--copy-windows", options.copy_windows, "windows of the copy test", 0, 1e9);
  app.add_flag("--no-copy", given->no_copy, "leave out the copy test (it needs 700 tokens)");
  add_number(app, "--seed", options.seed, "of the random groups and sampled rows", 0, 9e15);
  given->json_option =
      app.add_option("--json", given->json, "print the table as JSON, or write it to FILE")
          ->expected(0, 1)
          ->type_name("FILE");
  add_path(app, "--report", given->report, "write an HTML report", "FILE");
  add_path(app, "--record-routing", given->record,
           "write the adapter's decisions of the first window", "FILE");
  app.footer(
      "Example: focus eval --model DIR --adapter adapter --text book.txt --report page.html");
  return [given] { run(*given); };
}

}  // namespace focus::app
