// One line of an evaluation's table, and the two forms it is printed in.
#pragma once

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace focus {

// What one mask costs and what the model is worth under it. Means over the evaluated windows.
struct EvalRow {
  std::string mask;  // UTF-8; starts with "dense", "window" or "random" for the three rivals
  double pairs;      // kept / causal pairs, over query heads and the layers that Focus changes
  double cost;       // pairs plus scoring in pair-equivalents, over causal pairs
  std::optional<double> effective_groups;  // 1 / sum of squared key shares; none without groups
  double perplexity;                       // exp of the mean negative log-likelihood
  double copy_nats;  // mean negative log-likelihood of a repeated passage, nats a token
  std::optional<double> far_mass;  // share of dense mass outside window and sinks that is kept
};

// `value` with that many decimals, in scientific form from 10^7 on; "n/a" for NaN and infinities.
// Independent of the locale.
inline std::string format_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "n/a";
  const auto form =
      std::abs(value) < 1e7 ? std::chars_format::fixed : std::chars_format::scientific;
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, form, decimals).ptr;
  return std::string(buffer, end);
}

// An array of objects with the keys mask pairs cost effective_groups perplexity copy_nats far_mass;
// null where a value is absent or not finite.
nlohmann::json to_json(const std::vector<EvalRow>& rows);

// A header line and a line per row, columns aligned by characters, each line ended by '\n'. "-"
// where a value is absent, "n/a" where it is not finite.
std::string format_table(const std::vector<EvalRow>& rows);

}  // namespace focus
