#include "focus/inspect/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "focus/eval/eval_row.h"
#include "focus/inspect/html.h"

namespace focus {
namespace {

// User units of the drawing. The style doubles as the reader's: text grows on narrow screens, and
// the margins leave room for that.
constexpr double kWidth = 480, kHeight = 290;
constexpr double kLeft = 66, kRight = 24, kTop = 12, kBottom = 52;

// Beyond this, differences overflow; such a value is as good as infinite to a reader.
constexpr double kLargest = 1e100;

bool can_draw(const ChartPoint& point) {
  return std::abs(point.x) < kLargest && std::abs(point.y) < kLargest;
}

double tick_step(double low, double high, int target) {
  const double rough = (high - low) / target;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

// One axis: values in [low, high] onto positions from `start` to `end`.
struct Axis {
  double low, high, start, end;
  std::vector<double> ticks;
  int decimals;

  double position(double value) const {
    return start + (value - low) / (high - low) * (end - start);
  }
};

// An axis over [low, high]; a range too thin to divide is widened around its middle.
Axis make_axis(double low, double high, double start, double end, bool whole_numbers) {
  const double scale = std::max(std::abs(low), std::abs(high));
  if (high - low <= 1e-9 * scale || high == low) {
    const double margin = whole_numbers ? 1.0 : std::max(0.05 * scale, 1e-3);
    low -= margin;
    high += margin;
  } else if (!whole_numbers) {
    const double margin = 0.04 * (high - low);
    low -= margin;
    high += margin;
  }
  Axis axis{low, high, start, end, nice_ticks(low, high, 5), 0};
  const double step = axis.ticks.size() > 1 ? axis.ticks[1] - axis.ticks[0] : 1;
  axis.decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-6)), 0, 9);
  if (whole_numbers) {
    std::erase_if(axis.ticks, [](double tick) { return tick != std::round(tick); });
    axis.decimals = 0;
  }
  return axis;
}

std::string unit(double position) { return format_fixed(position, 1); }

std::string draw_axes(const LineChart& chart, const Axis& x, const Axis& y) {
  const std::string left = unit(kLeft), right = unit(kWidth - kRight), top = unit(kTop),
                    bottom = unit(kHeight - kBottom);
  std::string svg = "<g class=\"grid\">";
  for (const double tick : y.ticks) {
    const std::string at = unit(y.position(tick));
    svg += "<path d=\"M" + left + ' ' + at + "H" + right + "\"/>";
  }
  for (const double tick : x.ticks) {
    const std::string at = unit(x.position(tick));
    svg += "<path d=\"M" + at + ' ' + bottom + "v5\"/>";
  }
  svg += "</g>\n<path class=\"axis\" d=\"M" + left + ' ' + top + "V" + bottom + "H" + right +
         "\"/>\n<g class=\"ticks\">";
  for (const double tick : y.ticks) {
    svg += "<text text-anchor=\"end\" dy=\".35em\" x=\"" + unit(kLeft - 6) + "\" y=\"" +
           unit(y.position(tick)) + "\">" + format_fixed(tick, y.decimals) + "</text>";
  }
  for (const double tick : x.ticks) {
    svg += "<text text-anchor=\"middle\" x=\"" + unit(x.position(tick)) + "\" y=\"" +
           unit(kHeight - kBottom + 20) + "\">" + format_fixed(tick, x.decimals) + "</text>";
  }
  svg += "</g>\n<text class=\"label\" text-anchor=\"middle\" x=\"" +
         unit((kLeft + kWidth - kRight) / 2) + "\" y=\"" + unit(kHeight - 8) + "\">" +
         escape_html(chart.x_label) + "</text>";
  svg += "<text class=\"label\" text-anchor=\"middle\" transform=\"translate(15 " +
         unit((kTop + kHeight - kBottom) / 2) + ") rotate(-90)\">" + escape_html(chart.y_label) +
         "</text>\n";
  return svg;
}

std::string draw_series(const ChartSeries& series, const Axis& x, const Axis& y) {
  std::string path, markers;
  bool pen_down = false;
  for (const ChartPoint& point : series.points) {
    if (!can_draw(point)) {
      pen_down = false;
      continue;
    }
    const std::string at_x = unit(x.position(point.x)), at_y = unit(y.position(point.y));
    path += (pen_down ? "L" : "M") + at_x + ' ' + at_y;
    pen_down = true;
    if (series.markers) {
      markers += "<circle class=\"" + series.style + "\" cx=\"" + at_x + "\" cy=\"" + at_y +
                 "\" r=\"3.5\"><title>" + escape_html(series.name) + " at " +
                 format_fixed(point.x, 0) + ": " + format_fixed(point.y, 4) + "</title></circle>";
    }
  }
  if (path.empty()) return "";
  return "<path class=\"line " + series.style + "\" d=\"" + path + "\"/>" + markers + '\n';
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int target) {
  const double step = tick_step(low, high, target);
  std::vector<double> ticks;
  // A hair of slack keeps a tick that rounding puts just outside.
  const double last = std::floor(high / step + 1e-9);
  for (double i = std::ceil(low / step - 1e-9); i <= last; ++i)
    ticks.push_back(i * step + 0.0);  // no -0
  return ticks;
}

std::string render_line_chart(const LineChart& chart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ChartPoint low{kInfinity, kInfinity}, high{-kInfinity, -kInfinity};
  int left_out = 0;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      if (!can_draw(point)) {
        ++left_out;
        continue;
      }
      low = {std::min(low.x, point.x), std::min(low.y, point.y)};
      high = {std::max(high.x, point.x), std::max(high.y, point.y)};
    }
  }
  std::string html = "<figure>\n";
  if (low.x <= high.x) {
    const Axis x = make_axis(low.x, high.x, kLeft, kWidth - kRight, true);
    const Axis y = make_axis(low.y, high.y, kHeight - kBottom, kTop, false);
    html += "<svg role=\"img\" viewBox=\"0 0 " + format_fixed(kWidth, 0) + ' ' +
            format_fixed(kHeight, 0) + "\" aria-label=\"" + escape_html(chart.description) +
            "\">\n" + draw_axes(chart, x, y);
    for (const ChartSeries& series : chart.series) html += draw_series(series, x, y);
    html += "</svg>\n";
  }
  html += "<figcaption>" + escape_html(chart.description);
  if (left_out > 0) html += " Not finite (n/a), not drawn: " + std::to_string(left_out) + ".";
  html += "<span class=\"legend\">";
  for (const ChartSeries& series : chart.series) {
    html +=
        "<span><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"line " +
        series.style + "\" d=\"M1 6H27\"/>" +
        (series.markers ? "<circle class=\"" + series.style + "\" cx=\"14\" cy=\"6\" r=\"4\"/>"
                        : std::string()) +
        "</svg> " + escape_html(series.name) + "</span> ";
  }
  html += "</span></figcaption>\n</figure>\n";
  return html;
}

}  // namespace focus
