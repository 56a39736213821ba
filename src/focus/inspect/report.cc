#include "focus/inspect/report.h"

#include <string_view>

#include "focus/base/files.h"
#include "focus/inspect/eval_table.h"
#include "focus/inspect/heat_map.h"
#include "focus/inspect/html.h"
#include "focus/inspect/line_chart.h"
#include "focus/inspect/page_style.h"

namespace focus {
namespace {

std::string section(std::string_view id, std::string_view heading, const std::string& body) {
  const std::string name(id);
  return "<section id=\"" + name + "\" aria-labelledby=\"" + name + "-title\">\n<h2 id=\"" + name +
         "-title\">" + escape_html(heading) + "</h2>\n" + body + "</section>\n";
}

std::string paragraph(std::string_view text) { return "<p>" + escape_html(text) + "</p>\n"; }

std::string render_facts(const Report& report) {
  std::string html = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : report.facts) {
    html += "<dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd>\n";
  }
  return html + "</dl>\n";
}

std::string render_loss(const Report& report) {
  ChartSeries train{"train loss", "train", false, {}};
  ChartSeries heldout{"held-out loss", "heldout", true, {}};
  for (const Report::Point& point : report.loss) {
    const auto step = static_cast<double>(point.step);
    train.points.push_back({step, point.train_loss});
    if (point.heldout_loss) heldout.points.push_back({step, *point.heldout_loss});
  }
  const auto path = [](const ChartSeries& series) {
    const ChartPoint &first = series.points.front(), &last = series.points.back();
    return series.name + " from " + format_fixed(first.y, 3) + " at step " +
           format_fixed(first.x, 0) + " to " + format_fixed(last.y, 3) + " at step " +
           format_fixed(last.x, 0);
  };
  LineChart chart{"", "training step", report.loss_label, {}};
  chart.description = "Loss over training: " + path(train);
  if (!heldout.points.empty()) chart.description += ", " + path(heldout);
  chart.description += ".";
  chart.series.push_back(std::move(train));
  if (!heldout.points.empty()) chart.series.push_back(std::move(heldout));
  return render_line_chart(chart);
}

std::string render_tokens(const Report& report) {
  return paragraph(
             "Layer " + std::to_string(report.token_layer) + ", routing head " +
             std::to_string(report.token_head) +
             ", both numbered from 0. Each token is coloured by the group that its key "
             "belongs to; a later token that reads that group can attend to it from any "
             "distance. The group number shows on hover, or in the line above the text after a "
             "click or a tap.") +
         render_token_page(report.tokens);
}

std::string render_continuation(const Report& report) {
  return paragraph(
             "Written by the model with the adapter on. The prompt is grey, what the model "
             "wrote is underlined.") +
         "<div class=\"text\"><span class=\"prompt\"><span class=\"sr\">Prompt: </span>" +
         escape_html(report.continuation_prompt) +
         "</span><span class=\"written\"><span class=\"sr\">Continuation: </span>" +
         escape_html(report.continuation) + "</span></div>\n";
}

bool has_cells(const auto& layers) {
  for (const auto& layer : layers) {
    if (!layer.empty()) return true;
  }
  return false;
}

}  // namespace

std::string render_report(const Report& report) {
  const std::string title = escape_html(report.title);
  // The policy makes "needs nothing beside itself" a rule that the browser enforces.
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>" +
      title + "</title>\n<style>" + page_style() + group_styles(report.tokens) +
      "</style>\n</head>\n<body>\n<header>\n<h1>" + title + "</h1>\n";
  if (!report.facts.empty()) html += render_facts(report);
  html += "</header>\n<main>\n";
  if (!report.rows.empty()) {
    html += section("masks", "Masks compared", render_eval_table(report.rows));
  }
  if (!report.loss.empty()) html += section("loss", "Loss", render_loss(report));
  if (has_cells(report.far_mass)) {
    html +=
        section("far-mass", "Far mass kept by the adapter",
                paragraph("Of the attention that the dense model sends beyond the window and "
                          "the sinks, the share that each query head keeps. The mean counts every "
                          "head alike; the table weighs heads by what they send.") +
                    render_heat_map(far_mass_map(report.far_mass)));
  }
  if (has_cells(report.reads)) {
    html += section("reads", "Groups read",
                    paragraph("How many groups each query of a head reads: more reads cost more "
                              "pairs and keep more mass.") +
                        render_heat_map(reads_map(report.reads)));
  }
  if (!report.tokens.empty()) {
    html += section("tokens-by-group", "Tokens by group", render_tokens(report));
  }
  if (!report.continuation_prompt.empty() || !report.continuation.empty()) {
    html += section("continuation", "Continuation", render_continuation(report));
  }
  html += "</main>\n<script>" + std::string(page_script()) + "</script>\n</body>\n</html>\n";
  return html;
}

void write_report(const std::string& path, const Report& report) {
  write_file_atomically(path, std::string_view(render_report(report)));
}

}  // namespace focus
