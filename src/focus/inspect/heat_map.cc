#include "focus/inspect/heat_map.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "focus/eval/eval_row.h"
#include "focus/inspect/html.h"
#include "focus/inspect/palette.h"

namespace focus {
namespace {

constexpr char kUnchanged[] = "not changed by Focus";
constexpr char kDash[] = "\xE2\x80\x93";

std::string level_class(int level) { return level < 0 ? "none" : numbered("l", level); }

// Two decimals without the zero before the point: columns stay narrow.
std::string short_share(double share) {
  const std::string text = format_fixed(share, 2);
  return text.starts_with("0.") ? text.substr(1) : text;
}

// Reads 0, 1, 2, 3-4, 5-8, ...: each bin doubles the last.
int reads_bin(int reads) {
  return reads <= 0 ? 0 : 1 + std::bit_width(static_cast<unsigned>(reads - 1));
}

std::string reads_bin_name(int bin) {
  if (bin <= 2) return std::to_string(bin);
  const int64_t high = int64_t{1} << (bin - 1);
  return std::to_string(high / 2 + 1) + kDash + std::to_string(high);
}

// Turns values into cells and layer means; returns the mean over all values that count, NaN if
// none.
template <typename CellOf, typename MeanText>
double fill(HeatMap& map, const std::vector<std::vector<double>>& values, CellOf cell_of,
            MeanText mean_text) {
  map.summary_name = "mean";
  double total = 0;
  int total_count = 0;
  bool any_unchanged = false;
  for (const auto& layer : values) {
    std::vector<HeatCell> row;
    double sum = 0;
    int count = 0;
    for (const double value : layer) {
      if (!std::isfinite(value)) {
        row.push_back({"n/a", "n/a", -1});
      } else if (value < 0) {
        row.push_back({kDash, kUnchanged, -1});
        any_unchanged = true;
      } else {
        row.push_back(cell_of(value));
        sum += value;
        ++count;
      }
    }
    map.cells.push_back(std::move(row));
    map.layer_summary.push_back(count == 0 ? kDash : mean_text(sum / count));
    total += sum;
    total_count += count;
  }
  if (any_unchanged) map.key.push_back({kUnchanged, -1});
  return total / total_count;
}

}  // namespace

std::string render_heat_map(const HeatMap& map) {
  size_t heads = 0;
  for (const auto& layer : map.cells) heads = std::max(heads, layer.size());
  std::string html =
      "<div class=\"key-row\">" + escape_html(map.key_title) + " <span class=\"shades\">";
  for (const HeatKey& key : map.key) {
    const bool shade = key.level >= 0;
    html += "<span class=\"" + level_class(key.level) + "\">" +
            (shade ? escape_html(key.text) : std::string(kDash)) + "</span>";
    if (!shade) html += "<span>" + escape_html(key.text) + "</span>";
  }
  html += "</span></div>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
          escape_html(map.caption) + "\">\n<table class=\"heat\">\n<caption>" +
          escape_html(map.caption) + "</caption>\n<thead><tr><th scope=\"col\">layer</th>";
  for (size_t head = 0; head < heads; ++head) {
    const std::string name = std::to_string(head);
    html += "<th scope=\"col\"><span class=\"sr\">head </span>" + name + "</th>";
  }
  html += "<th scope=\"col\">" + escape_html(map.summary_name) + "</th></tr></thead>\n<tbody>\n";
  for (size_t layer = 0; layer < map.cells.size(); ++layer) {
    const std::string layer_name = std::to_string(layer);
    html += "<tr><th scope=\"row\">" + layer_name + "</th>";
    for (size_t head = 0; head < heads; ++head) {
      if (head >= map.cells[layer].size()) {
        html += "<td></td>";
        continue;
      }
      const HeatCell& cell = map.cells[layer][head];
      html += "<td class=\"" + level_class(cell.level) + "\" title=\"layer " + layer_name +
              ", head " + std::to_string(head) + ": " + escape_html(cell.title) + "\">" +
              escape_html(cell.text) + "</td>";
    }
    html += "<td class=\"summary\">" + escape_html(map.layer_summary[layer]) + "</td></tr>\n";
  }
  html += "</tbody>\n</table>\n</div>\n";
  return html;
}

HeatMap far_mass_map(const std::vector<std::vector<double>>& shares) {
  HeatMap map;
  map.key_title = "Share kept:";
  for (int level = 0; level < kLevels; ++level) {
    map.key.push_back({format_fixed(level / (kLevels - 1.0), 1), level});
  }
  const auto cell_of = [](double share) -> HeatCell {
    const int level = static_cast<int>(std::lround(std::min(share, 1.0) * (kLevels - 1)));
    return {short_share(share), format_fixed(share, 4) + " kept", level};
  };
  const double mean = fill(map, shares, cell_of, short_share);
  map.caption =
      "Far mass kept, share from 0 to 1, by layer (rows) and query head (columns), both numbered "
      "from 0. Mean: " +
      format_fixed(mean, 3) + ".";
  return map;
}

HeatMap reads_map(const std::vector<std::vector<int>>& reads) {
  HeatMap map;
  map.key_title = "Groups read:";
  int last_bin = 0;
  std::vector<std::vector<double>> counts;
  for (const auto& layer : reads) {
    counts.emplace_back(layer.begin(), layer.end());
    for (const int count : layer) last_bin = std::max(last_bin, reads_bin(count));
  }
  const auto level_of = [&](int bin) { return last_bin == 0 ? 0 : bin * (kLevels - 1) / last_bin; };
  for (int bin = 0; bin <= last_bin; ++bin) map.key.push_back({reads_bin_name(bin), level_of(bin)});
  const auto cell_of = [&](double count) -> HeatCell {
    const std::string number = format_fixed(count, 0);
    return {number, number + (count == 1 ? " group read" : " groups read"),
            level_of(reads_bin(static_cast<int>(count)))};
  };
  const double mean = fill(map, counts, cell_of, [](double m) { return format_fixed(m, 1); });
  map.caption =
      "Groups read by each query, a count, by layer (rows) and head (columns), both numbered from "
      "0. Mean: " +
      format_fixed(mean, 2) + ".";
  return map;
}

}  // namespace focus
