#include "eval_report.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "describe.h"
#include "focus/base/files.h"
#include "focus/infer/generator.h"
#include "focus/inspect/report.h"
#include "output_folder.h"

namespace focus::app {
namespace {

std::vector<Report::Point> loss_curve(const std::string& folder) {
  const std::string path = folder + "/metrics.jsonl";
  std::vector<Report::Point> points;
  if (!std::filesystem::exists(path)) return points;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.contains("step") || !json.contains("loss")) continue;
    Report::Point point{json["step"].get<int64_t>(), json["loss"].get<double>(), std::nullopt};
    if (json.contains("heldout_loss")) point.heldout_loss = json["heldout_loss"].get<double>();
    points.push_back(point);
  }
  return points;
}

// The query head that looks farthest: the one with most dense mass outside window and sinks.
std::pair<int64_t, int64_t> farthest_head(const std::vector<std::vector<double>>& far) {
  std::pair<int64_t, int64_t> best{0, 0};
  for (size_t layer = 0; layer < far.size(); ++layer) {
    for (size_t head = 0; head < far[layer].size(); ++head) {
      if (far[layer][head] > far[best.first][best.second])
        best = {static_cast<int64_t>(layer), static_cast<int64_t>(head)};
    }
  }
  return best;
}

void colour_tokens(Report& report, const LoadedModel& model, const std::vector<int32_t>& window,
                   const Adapter& adapter, int64_t layer, int64_t head) {
  const at::NoGradGuard frozen;
  MaskedAttention attention(adapter.mask("adapter"));
  auto cache = model.decoder->new_cache();
  model.decoder->forward(window, cache, [&](const LayerInputs& inputs, LayerCache& one) {
    return attention(inputs, one);
  });
  const auto& keys = cache.layer(layer).key_sets;
  const int64_t router = keys.heads() == 1 ? 0 : head / (adapter.base.shape.heads / keys.heads());
  for (size_t t = 0; t < window.size(); ++t) {
    int group = -1;
    for (int64_t g = keys.groups() - 1; g >= 0; --g) {
      if (keys.contains(static_cast<int64_t>(t), router, g)) group = static_cast<int>(g);
    }
    report.tokens.push_back({model.tokenizer.token_bytes(window[t]), group});
  }
  report.token_layer = static_cast<int>(layer);
  report.token_head = static_cast<int>(head);
}

}  // namespace

void write_eval_report(const std::string& path, const LoadedModel& model,
                       const TokenWindows& windows, const Adapter* adapter,
                       const std::string& adapter_folder, const EvalResult& result) {
  Report report;
  report.title = "Focus: " + std::filesystem::path(model.arguments.model).stem().string();
  report.facts = {{"Model", model.arguments.model},
                  {"Parameters", std::to_string(model.decoder->weight_count())},
                  {"Compute type", std::string(compute_name(model.compute))},
                  {"Perplexity", fmt::format("{} windows of {} tokens side by side, {}",
                                             result.windows, windows.tokens(), model.bos_rule())},
                  {"Copy test", fmt::format("{} windows: 200 tokens repeated at distance {}",
                                            result.copy_windows, windows.tokens() - 424)}};
  report.rows = result.rows;
  const auto window = windows.side_by_side(windows.texts() - 1, 0);
  if (adapter != nullptr) {
    report.facts.emplace_back(
        "Adapter", fmt::format("{}: {} parameters", adapter_folder, adapter->parameter_count()));
    report.facts.emplace_back("Routing",
                              routing_text(adapter->spec) + "; " + rule_text(adapter->rule));
    for (const auto& [name, value] : adapter->calibration)
      report.facts.emplace_back("Training: " + name, value);
    report.loss = loss_curve(adapter_folder);
    report.loss_label = "group cross-entropy (nats)";
    report.far_mass = result.far_mass_by_head;
    for (const auto& layer : adapter->layers)
      report.reads.emplace_back(layer.reads.begin(), layer.reads.end());
    const auto [layer, head] = farthest_head(result.far_by_head);
    colour_tokens(report, model, window, *adapter, layer, head);
    const std::vector<int32_t> prompt(window.begin(),
                                      window.begin() + std::min<int64_t>(windows.tokens(), 400));
    GenerationOptions options{.max_tokens = 80, .eos = model.checkpoint.config().eos};
    const auto continuation = generate(*model.decoder, model.tokenizer, adapter->mask("adapter"),
                                       prompt, options, {}, interrupted);
    report.continuation_prompt = model.tokenizer.decode(prompt);
    report.continuation = continuation.text;
  }
  write_output_file(path, render_report(report));
}

}  // namespace focus::app
