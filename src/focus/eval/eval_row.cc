#include "focus/eval/eval_row.h"

#include <algorithm>
#include <array>

namespace focus {
namespace {

constexpr size_t kColumns = 7;
using Cells = std::array<std::string, kColumns>;

nlohmann::json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

std::string cell(std::optional<double> value, int decimals) {
  return value ? format_fixed(*value, decimals) : "-";
}

// Characters rather than bytes, so that a name outside ASCII does not shift its line.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

nlohmann::json to_json(const std::vector<EvalRow>& rows) {
  nlohmann::json array = nlohmann::json::array();
  for (const EvalRow& row : rows) {
    nlohmann::json object = nlohmann::json::object();
    object["mask"] = row.mask;
    object["pairs"] = number_or_null(row.pairs);
    object["cost"] = number_or_null(row.cost);
    object["effective_groups"] = number_or_null(row.effective_groups);
    object["perplexity"] = number_or_null(row.perplexity);
    object["copy_nats"] = number_or_null(row.copy_nats);
    object["far_mass"] = number_or_null(row.far_mass);
    array.push_back(std::move(object));
  }
  return array;
}

std::string format_table(const std::vector<EvalRow>& rows) {
  std::vector<Cells> lines = {
      {"mask", "pairs", "cost", "eff. groups", "perplexity", "copy (nats)", "far mass"}};
  for (const EvalRow& row : rows) {
    lines.push_back({row.mask, cell(row.pairs, 3), cell(row.cost, 3), cell(row.effective_groups, 1),
                     cell(row.perplexity, 2), cell(row.copy_nats, 3), cell(row.far_mass, 3)});
  }
  std::array<size_t, kColumns> widths{};
  for (const Cells& line : lines) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  std::string table;
  for (const Cells& line : lines) {
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string padding(widths[i] - width(line[i]), ' ');
      table += i == 0 ? line[i] + padding : "  " + padding + line[i];
    }
    table += '\n';
  }
  return table;
}

}  // namespace focus
