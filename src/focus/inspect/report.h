// The page that a run leaves behind: one HTML file that needs nothing beside itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "focus/eval/eval_row.h"
#include "focus/inspect/token_page.h"

namespace focus {

// What the page shows. Parts without data are left out of it. Any bytes are allowed in the strings.
struct Report {
  struct Point {
    int64_t step;
    double train_loss;
    std::optional<double> heldout_loss;
  };
  using Token = TokenView;

  std::string title;
  // Name and value, in this order: model, adapter, dtype, windows, BOS rule, routing, T, commit ...
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<EvalRow> rows;
  std::vector<Point> loss;
  std::string loss_label = "loss (nats)";     // the loss axis: quantity and unit
  std::vector<std::vector<double>> far_mass;  // layers x query heads, 0 to 1; -1: layer unchanged
  std::vector<std::vector<int>> reads;  // layers x heads, groups read a query; -1: layer unchanged
  std::vector<Token> tokens;            // one stretch of text, in order
  int token_layer = 0, token_head = 0;  // whose groups colour it
  std::string continuation_prompt, continuation;
};

// A whole HTML document in UTF-8. Numbers that are not finite read "n/a".
std::string render_report(const Report& report);

// Renders and replaces `path` in one step. Errors: those of write_file_atomically (base/files.h).
void write_report(const std::string& path, const Report& report);

}  // namespace focus
