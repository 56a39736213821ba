#include "focus/inspect/eval_table.h"

#include <cctype>
#include <cmath>
#include <limits>

#include "focus/inspect/html.h"

namespace focus {
namespace {

constexpr char kDash[] = "\xE2\x80\x93";
constexpr char kTimes[] = "\xC3\x97";

bool names(const std::string& mask, std::string_view word) {
  if (mask.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(mask[i])) != word[i]) return false;
  }
  return true;
}

bool is_dense(const EvalRow& row) { return names(row.mask, "dense"); }

bool is_sparse(const EvalRow& row) { return !is_dense(row) && row.pairs < 1; }

// The perplexity of the first dense row; NaN without one.
double dense_perplexity(const std::vector<EvalRow>& rows) {
  for (const EvalRow& row : rows) {
    if (is_dense(row)) return row.perplexity;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string number(std::optional<double> value, int decimals) {
  return "<td role=\"cell\">" + (value ? format_fixed(*value, decimals) : kDash) + "</td>";
}

// The roles keep it a table for assistive software where the style lays it out as a grid.
std::string heading(std::string_view name, std::string_view unit) {
  return "<th scope=\"col\" role=\"columnheader\">" + std::string(name) + "<span class=\"unit\">" +
         std::string(unit) + "</span></th>";
}

std::string note(std::string_view term, std::string_view meaning) {
  return "<dt>" + escape_html(term) + "</dt><dd>" + escape_html(meaning) + "</dd>\n";
}

std::string summary(const EvalRow& best, double ratio) {
  std::string text =
      "Best sparse mask: " + best.mask + ", perplexity " + format_fixed(best.perplexity, 2);
  if (std::isfinite(ratio)) text += " (" + format_fixed(ratio, 3) + ' ' + kTimes + " dense)";
  text += " at cost " + format_fixed(best.cost, 3) + '.';
  return "<p><strong>" + escape_html(text) + "</strong></p>\n";
}

}  // namespace

size_t best_sparse_row(const std::vector<EvalRow>& rows) {
  size_t best = rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!is_sparse(rows[i]) || !std::isfinite(rows[i].perplexity)) continue;
    if (best == rows.size() || rows[i].perplexity < rows[best].perplexity) best = i;
  }
  return best;
}

std::string describe_mask(const std::string& mask) {
  if (names(mask, "dense")) {
    return "every earlier token, as the model was trained: the mark to reach.";
  }
  if (names(mask, "window")) {
    return "only the latest tokens and the first few (sinks): the plain rival at equal cost.";
  }
  if (names(mask, "random")) {
    return "window and sinks, and keys in groups drawn at random: the control that shows what "
           "grouping by content adds.";
  }
  return "window and sinks, and from any distance the keys in the groups that the query reads.";
}

std::string render_eval_table(const std::vector<EvalRow>& rows) {
  const double dense = dense_perplexity(rows);
  const bool relative = std::isfinite(dense);
  const size_t best = best_sparse_row(rows);
  std::string html;
  if (best < rows.size()) html += summary(rows[best], rows[best].perplexity / dense);
  html +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Masks "
      "compared\">\n<table class=\"masks\" role=\"table\" style=\"--numbers:" +
      std::string(relative ? "7" : "6") +
      "\">\n"
      "<caption>Cost and quality of each mask on held-out text.</caption>\n<thead "
      "role=\"rowgroup\"><tr role=\"row\">" +
      heading("mask", "") + heading("pairs", "of causal") + heading("cost", "of causal") +
      heading("perplexity", "") + (relative ? heading("ppl.", "\xC3\x97 dense") : std::string()) +
      heading("copy", "nats a token") + heading("far mass", "share kept") +
      heading("groups", "effective") + "</tr></thead>\n<tbody role=\"rowgroup\">\n";
  std::string sentences;
  for (size_t i = 0; i < rows.size(); ++i) {
    const EvalRow& row = rows[i];
    const std::string name = escape_html(row.mask);
    html += i == best ? "<tr role=\"row\" class=\"best\">" : "<tr role=\"row\">";
    html += "<th scope=\"row\" role=\"rowheader\">" + name +
            (i == best ? " <span class=\"badge\">best sparse</span>" : "") + "</th>" +
            number(row.pairs, 3) + number(row.cost, 3) + number(row.perplexity, 2) +
            (relative ? number(row.perplexity / dense, 3) : std::string()) +
            number(row.copy_nats, 3) + number(row.far_mass, 3) + number(row.effective_groups, 1) +
            "</tr>\n";
    sentences += note(row.mask, "keeps " + describe_mask(row.mask));
  }
  html += "</tbody>\n</table>\n</div>\n<dl class=\"notes\">\n" + sentences + "</dl>\n";
  html +=
      "<details open>\n<summary>What the columns mean</summary>\n<dl class=\"notes\">\n" +
      note("pairs",
           "query-key pairs kept, as a share of all causal pairs; mean over the query heads "
           "and the layers that Focus changes. Lower is cheaper.") +
      note("cost",
           "pairs plus the scoring that chooses them, counted in pairs, over all causal "
           "pairs. Masks are compared at equal cost. Lower is cheaper.") +
      note("perplexity", "exp of the mean negative log-likelihood of the text. Lower is better.") +
      note("copy",
           "mean negative log-likelihood, in nats a token, of a passage repeated later in the "
           "window, beyond the reach of the near keys: can the model still find it? Lower is "
           "better.") +
      note("far mass",
           "of the dense model's attention outside window and sinks, the share that the mask "
           "keeps. Higher is better.") +
      note("groups, effective",
           "1 / sum of squared shares of keys a group, mean over heads: how many groups are "
           "in use. " +
               std::string(kDash) + " where a mask has none.") +
      "</dl>\n</details>\n";
  return html;
}

}  // namespace focus
