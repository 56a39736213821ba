#include "focus/inspect/report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "focus/base/error.h"
#include "focus/base/files.h"
#include "focus/inspect/eval_table.h"
#include "focus/inspect/html_check.h"

namespace focus {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has(const std::string& html, std::string_view part) {
  return html.find(part) != std::string::npos;
}

Report full_report() {
  Report report;
  report.title = "Quickstart";
  report.facts = {{"model", "SmolLM2-135M-Instruct"}, {"T", "1024"}};
  report.rows = {{"dense", 1, 1, std::nullopt, 27.64, 0.32, 1.0},
                 {"window 136 + 4 sinks", .243, .243, std::nullopt, 30.78, 3.6, .11},
                 {"random groups", .22, .243, 63.5, 31.57, 3.41, .125},
                 {"this adapter", .22, .243, 50.1, 28.1, .46, .66}};
  report.loss = {{1, 2.5, 2.6}, {2, 2.25, std::nullopt}, {3, 2.0, 2.125}};
  report.far_mass = {{.5, .25}, {-1, -1}};
  report.reads = {{1, 8}, {-1, -1}};
  report.tokens = {{"In", 0}, {" the", 1}};
  report.token_layer = 12;
  report.token_head = 1;
  report.continuation_prompt = "In the beginning";
  report.continuation = " was the word.";
  return report;
}

const std::vector<std::string> kSections = {"id=\"masks\"",           "id=\"loss\"",
                                            "id=\"far-mass\"",        "id=\"reads\"",
                                            "id=\"tokens-by-group\"", "id=\"continuation\""};

TEST(Report, FullPageIsWellFormedAndHasEverySection) {
  const std::string html = render_report(full_report());
  EXPECT_EQ(find_html_fault(html), "");
  for (const std::string& id : kSections) EXPECT_TRUE(has(html, id)) << id;
  EXPECT_TRUE(has(html, "<dt>model</dt><dd>SmolLM2-135M-Instruct</dd>"));
  EXPECT_TRUE(has(html, "<title>Quickstart</title>"));
  EXPECT_TRUE(has(html, "Layer 12, routing head 1"));
  EXPECT_TRUE(has(html,
                  "train loss from 2.500 at step 1 to 2.000 at step 3, "
                  "held-out loss from 2.600 at step 1 to 2.125 at step 3."));
}

TEST(Report, SectionsWithoutDataAreLeftOut) {
  const auto present = [](const Report& report) {
    const std::string html = render_report(report);
    EXPECT_EQ(find_html_fault(html), "");
    std::string found;
    for (const std::string& id : kSections) found += has(html, id) ? '1' : '0';
    return found;
  };
  Report report = full_report();
  report.rows.clear();
  EXPECT_EQ(present(report), "011111");
  report = full_report();
  report.loss.clear();
  EXPECT_EQ(present(report), "101111");
  report = full_report();
  report.far_mass.clear();
  EXPECT_EQ(present(report), "110111");
  report.reads = {{}, {}};
  EXPECT_EQ(present(report), "110011");
  report = full_report();
  report.tokens.clear();
  EXPECT_EQ(present(report), "111101");
  report = full_report();
  report.continuation.clear();
  EXPECT_EQ(present(report), "111111");
  report.continuation_prompt.clear();
  EXPECT_EQ(present(report), "111110");
  EXPECT_EQ(present(Report{}), "000000");
  EXPECT_FALSE(has(render_report(Report{}), "class=\"facts\""));
}

TEST(Report, NeedsNothingBesideItself) {
  const std::string html = render_report(full_report());
  for (const char* part : {"http://", "https://", "src=", "url(", "@import"}) {
    EXPECT_FALSE(has(html, part)) << part;
  }
  EXPECT_TRUE(has(html, "default-src 'none'"));
}

TEST(Report, HostileTextStaysText) {
  const std::string hostile = "</style></script><script>alert(1)</script>\"'&\xFF\x01\u202E";
  Report report = full_report();
  report.title = hostile;
  report.facts = {{hostile, hostile}};
  for (EvalRow& row : report.rows) row.mask = hostile;
  report.loss_label = hostile;
  report.tokens = {{hostile, 0}, {hostile, -5}};
  report.continuation_prompt = report.continuation = hostile;
  const std::string html = render_report(report);
  EXPECT_EQ(find_html_fault(html), "");
  EXPECT_FALSE(has(html, "alert(1)</script>"));
  EXPECT_FALSE(has(html, "\xFF"));
  EXPECT_FALSE(has(html, "\x01"));
  EXPECT_FALSE(has(html, "\u202E"));
  EXPECT_TRUE(has(html, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\uFFFD\u2401\uFFFD"));
}

TEST(Report, NumbersThatAreNotFiniteReadNotAvailable) {
  Report report;
  report.rows = {{"dense", kNan, kInfinity, kNan, kInfinity, -kInfinity, kNan},
                 {"this adapter", .2, .25, kNan, kNan, kNan, kInfinity}};
  report.loss = {{1, kNan, kInfinity}, {2, 2.0, kNan}};
  report.far_mass = {{kNan, kInfinity}};
  const std::string html = render_report(report);
  EXPECT_EQ(find_html_fault(html), "");
  const std::string body =
      html.substr(html.find("<main>"), html.find("<script>") - html.find("<main>"));
  size_t count = 0;
  for (size_t at = body.find(">n/a</td>"); at != std::string::npos;
       at = body.find(">n/a</td>", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 6u + 4u + 2u);  // dense, adapter, heat map
  for (const char* part : {"nan", "NaN", ">inf", "-inf", "best sparse"}) {
    EXPECT_FALSE(has(body, part)) << part;
  }
}

TEST(EvalTable, BestSparseRow) {
  std::vector<EvalRow> rows = full_report().rows;
  EXPECT_EQ(best_sparse_row(rows), 3u);
  rows[3].perplexity = kNan;
  EXPECT_EQ(best_sparse_row(rows), 1u);
  rows[1].pairs = 1;  // keeps every pair: not sparse, whatever its name
  EXPECT_EQ(best_sparse_row(rows), 2u);
  rows.resize(1);
  EXPECT_EQ(best_sparse_row(rows), rows.size());
  EXPECT_EQ(best_sparse_row({}), 0u);
}

TEST(EvalTable, MarksTheBestRowAndRelatesToDense) {
  const std::string html = render_eval_table(full_report().rows);
  EXPECT_EQ(find_html_fault(html), "");
  const size_t best = html.find("<tr role=\"row\" class=\"best\">");
  ASSERT_NE(best, std::string::npos);
  EXPECT_EQ(html.find("<tr role=\"row\" class=\"best\">", best + 1), std::string::npos);
  const std::string row = html.substr(best, html.find("</tr>", best) - best);
  EXPECT_TRUE(has(row, "this adapter"));
  EXPECT_TRUE(has(row,
                  ">28.10</td><td role=\"cell\">1.017</td><td role=\"cell\">0.460</td><td "
                  "role=\"cell\">0.660<"))
      << row;
  EXPECT_TRUE(has(html, "this adapter, perplexity 28.10 (1.017 × dense) at cost 0.243."));
}

TEST(EvalTable, WithoutDenseNothingIsRelative) {
  std::vector<EvalRow> rows = full_report().rows;
  rows.erase(rows.begin());
  const std::string html = render_eval_table(rows);
  EXPECT_EQ(find_html_fault(html), "");
  EXPECT_FALSE(has(html, "× dense"));
  EXPECT_TRUE(has(html, "this adapter, perplexity 28.10 at cost 0.243."));
}

TEST(EvalTable, EveryMaskIsToldInASentence) {
  EXPECT_TRUE(has(describe_mask("Dense"), "every earlier token"));
  EXPECT_TRUE(has(describe_mask("window 136 + 4 sinks"), "rival"));
  EXPECT_TRUE(has(describe_mask("random groups, 12 read"), "control"));
  EXPECT_TRUE(has(describe_mask("this adapter"), "groups that the query reads"));
  EXPECT_TRUE(has(describe_mask(""), "groups that the query reads"));
}

TEST(Report, WritesThePageOrNothing) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "focus_report_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "report.html").string();
  write_report(path, full_report());
  EXPECT_EQ(read_file(path), render_report(full_report()));
  EXPECT_THROW(write_report((folder / "absent" / "report.html").string(), full_report()), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "absent"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace focus
