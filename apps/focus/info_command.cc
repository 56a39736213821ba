#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "describe.h"
#include "focus/formats/safetensors.h"
#include "focus/formats/tensor_info.h"
#include "loaded_model.h"

namespace focus::app {
namespace {

using Facts = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

std::string mebibytes(int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

Facts of_adapter(const std::string& path) {
  const Adapter adapter = load_adapter(path);
  const auto& spec = adapter.spec;
  const auto& shape = adapter.base.shape;
  Facts facts{{"kind", "Focus adapter"},
              {"base", fmt::format("{}, {} layers, hidden {}, heads {}/{} of {}",
                                   adapter.base.architecture, shape.layers, shape.hidden,
                                   shape.heads, shape.kv_heads, shape.head_dim)},
              {"routing", routing_text(spec)},
              {"rule", rule_text(adapter.rule)},
              {"parameters", adapter.parameter_count()}};
  double reads = 0;
  for (const auto& layer : adapter.layers) {
    for (int32_t read : layer.reads) reads += read;
  }
  facts.emplace_back("mean groups read",
                     reads / static_cast<double>(shape.layers * shape.query_routers(spec)));
  for (int64_t tokens : {1024, 8192, 65536}) {
    facts.emplace_back(fmt::format("scoring cost at {}", tokens),
                       fmt::format("{:.4f} of the causal pairs", adapter.scoring(tokens)));
  }
  for (const auto& [name, value] : adapter.calibration)
    facts.emplace_back("training: " + name, value);
  return facts;
}

Facts of_model(const std::string& path) {
  const Checkpoint checkpoint(path);
  const auto& config = checkpoint.config();
  std::map<std::string, int64_t> types;
  int64_t parameters = 0;
  for (const auto& weight : checkpoint.weights()) {
    const int64_t elements = element_count(weight.shape);
    parameters += elements;
    types[std::string(dtype_name(weight.dtype))] += elements;
  }
  std::string stored;
  for (const auto& [name, elements] : types)
    stored += fmt::format("{}{} {:.1f}%", stored.empty() ? "" : ", ", name,
                          100.0 * static_cast<double>(elements) / static_cast<double>(parameters));
  const RoutingShape shape{config.layers, config.hidden, config.heads, config.kv_heads,
                           config.head_dim};
  const RoutingSpec spec;
  const std::vector<std::vector<int32_t>> every_head(config.layers,
                                                     std::vector<int32_t>(config.heads, 1));
  const int64_t added = config.layers * (shape.key_routers(spec) + shape.query_routers(spec)) *
                        (spec.rank * config.head_dim + spec.groups * spec.rank + spec.groups);
  return {
      {"kind", checkpoint.gguf() != nullptr ? "model (GGUF)" : "model (Hugging Face folder)"},
      {"architecture", config.architecture},
      {"layers", config.layers},
      {"hidden", config.hidden},
      {"heads", fmt::format("{} query, {} key/value, of {}", config.heads, config.kv_heads,
                            config.head_dim)},
      {"intermediate", config.intermediate},
      {"vocabulary", config.vocab},
      {"context", config.context},
      {"rope theta", config.rope_theta},
      {"tied embeddings", config.tied_embeddings},
      {"parameters", parameters},
      {"stored as", stored},
      {"expanded", fmt::format("{} in f32, {} in bf16",
                               mebibytes(expanded_bytes(checkpoint, ComputeType::kF32)),
                               mebibytes(expanded_bytes(checkpoint, ComputeType::kBF16)))},
      {"key/value cache",
       fmt::format("{} KiB a token in f32, half of it in bf16",
                   int64_t{2} * 4 * config.layers * config.kv_heads * config.head_dim >> 10)},
      {"default adapter",
       fmt::format("{} parameters ({:.2f}%), scoring cost up to {:.4f} at T = 1024, {:.4f} at 8192",
                   added, 100.0 * static_cast<double>(added) / static_cast<double>(parameters),
                   scoring_cost(spec, shape, every_head, 1024),
                   scoring_cost(spec, shape, every_head, 8192))}};
}

Facts of_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
  Facts facts{{"kind", "safetensors file"}, {"tensors", file.tensors().size()}};
  for (const auto& [name, value] : file.metadata()) facts.emplace_back("metadata: " + name, value);
  for (const auto& tensor : file.tensors())
    facts.emplace_back(tensor.name, fmt::format("{} [{}]", dtype_name(tensor.dtype),
                                                fmt::join(tensor.shape, ", ")));
  return facts;
}

void run(const std::string& path, bool json) {
  const bool adapter = std::filesystem::exists(path + "/focus_config.json");
  const Facts facts = adapter                          ? of_adapter(path)
                      : path.ends_with(".safetensors") ? of_safetensors(path)
                                                       : of_model(path);
  if (json) {
    nlohmann::ordered_json out;
    for (const auto& [name, value] : facts) out[name] = value;
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const auto& [name, value] : facts)
    fmt::print("{:<22} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

Command add_info(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  add_path(app, "path", *path, "model folder, GGUF file, adapter folder or safetensors file",
           "PATH")
      ->required();
  app.add_flag("--json", *json, "print as JSON");
  app.footer("Example: focus info adapter --json");
  return [path, json] { run(*path, *json); };
}

}  // namespace focus::app
