#include "focus/inspect/line_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "focus/inspect/html_check.h"

namespace focus {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

LineChart chart_of(std::vector<ChartPoint> points) {
  return {"A line.", "step", "loss (nats)", {{"train loss", "train", false, std::move(points)}}};
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(NiceTicks, ZeroHasNoSign) {
  const std::vector<double> ticks = nice_ticks(0, 100, 5);
  ASSERT_FALSE(ticks.empty());
  EXPECT_FALSE(std::signbit(ticks.front()));
}

TEST(LineChart, TicksAreRoundAndInside) {
  const auto expect = [](double low, double high, std::vector<double> ticks) {
    const std::vector<double> found = nice_ticks(low, high, 5);
    ASSERT_EQ(found.size(), ticks.size()) << low << ' ' << high;
    for (size_t i = 0; i < ticks.size(); ++i) EXPECT_NEAR(found[i], ticks[i], 1e-12);
  };
  expect(0, 1, {0, .2, .4, .6, .8, 1});
  expect(-3, 7, {-2, 0, 2, 4, 6});
  expect(1.03, 1.07, {1.03, 1.04, 1.05, 1.06, 1.07});
  expect(1, 150, {50, 100, 150});
}

TEST(LineChart, TicksStayFewWhateverTheRange) {
  for (const double scale : {1e-30, 1e-9, 1.0, 3.0, 7.7, 1e6, 1e90}) {
    const size_t ticks = nice_ticks(-scale, 1.37 * scale, 5).size();
    EXPECT_GE(ticks, 3u) << scale;
    EXPECT_LE(ticks, 7u) << scale;
  }
}

TEST(LineChart, DrawsAxesLabelsAndLine) {
  const std::string html = render_line_chart(chart_of({{0, 2}, {50, 1}, {100, 0.5}}));
  EXPECT_EQ(find_html_fault(html), "");
  for (const char* part :
       {">step<", ">loss (nats)<", ">100<", ">1.0<", "train loss", "role=\"img\""}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  // Left edge, right edge: the line spans the whole x axis; three points, one stroke.
  EXPECT_NE(html.find("class=\"line train\" d=\"M66.0 "), std::string::npos);
  EXPECT_NE(html.find("L456.0 "), std::string::npos);
  EXPECT_EQ(html.find("Not finite"), std::string::npos);
}

TEST(LineChart, ValuesThatAreNotFiniteBreakTheLine) {
  const std::string html = render_line_chart(
      chart_of({{0, 2}, {1, 1.9}, {2, kNan}, {3, kInfinity}, {4, 1}, {5, 1e200}}));
  EXPECT_EQ(find_html_fault(html), "");
  EXPECT_NE(html.find("Not finite (n/a), not drawn: 3."), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
  const size_t line = html.find("class=\"line train\" d=\"");
  const std::string path = html.substr(line, html.find("/>", line) - line);
  EXPECT_EQ(count(path, "M"), 2u);
  EXPECT_EQ(count(path, "L"), 1u);
}

TEST(LineChart, DegenerateRanges) {
  for (const auto& points : std::vector<std::vector<ChartPoint>>{{},
                                                                 {{0, kNan}},
                                                                 {{7, 3.5}},
                                                                 {{1, 0}, {2, 0}},
                                                                 {{1, 1}, {2, 1 + 1e-15}},
                                                                 {{0, 1e-300}, {1, 2e-300}},
                                                                 {{0, -1e99}, {1e9, 1e99}}}) {
    const std::string html = render_line_chart(chart_of(points));
    EXPECT_EQ(find_html_fault(html), "");
    EXPECT_EQ(html.find("n/a\""), std::string::npos) << html;
    EXPECT_LT(html.size(), 6000u);
    EXPECT_EQ(html.find("viewBox=\"0 0 480") != std::string::npos,
              !points.empty() && std::isfinite(points[0].y));
  }
}

TEST(LineChart, MarkersCarryTheirValues) {
  LineChart chart = chart_of({{0, 2}, {10, 1}});
  chart.series.push_back({"held-out <loss>", "heldout", true, {{10, 1.25}}});
  const std::string html = render_line_chart(chart);
  EXPECT_EQ(find_html_fault(html), "");
  EXPECT_NE(html.find("<title>held-out &lt;loss&gt; at 10: 1.2500</title>"), std::string::npos);
}

}  // namespace
}  // namespace focus
