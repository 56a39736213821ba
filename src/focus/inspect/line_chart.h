// A line chart as inline SVG.
#pragma once

#include <string>
#include <vector>

namespace focus {

struct ChartPoint {
  double x, y;
};

struct ChartSeries {
  std::string name;   // in the legend
  std::string style;  // CSS class of its line: "train" or "heldout" (page_style.h)
  bool markers;       // a dot at each point, with its values as tooltip
  std::vector<ChartPoint> points;
};

struct LineChart {
  std::string description;  // one sentence for those who do not see it
  std::string x_label, y_label;
  std::vector<ChartSeries> series;
};

// Ticks at multiples of 1, 2 or 5 times a power of ten, about `target` of them, inside [low, high].
// low < high, both finite.
std::vector<double> nice_ticks(double low, double high, int target);

// A figure with axes, ticks, grid and legend. Points that are not finite break the line and are
// counted below it; without any finite point there are no axes, only that count.
std::string render_line_chart(const LineChart& chart);

}  // namespace focus
