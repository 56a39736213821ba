// A table of layers by heads whose cells are shaded by their value.
#pragma once

#include <string>
#include <vector>

namespace focus {

struct HeatCell {
  std::string text;   // the number as printed
  std::string title;  // shown on hover, after "layer l, head h: "
  int level;          // shade, 0 to kLevels - 1; -1: no value
};

struct HeatKey {
  std::string text;
  int level;  // -1: the sign for "no value", with the text beside it
};

struct HeatMap {
  std::string caption;
  std::string key_title;
  std::vector<HeatKey> key;                  // the shades in use, in order
  std::vector<std::vector<HeatCell>> cells;  // layers x heads; layers may differ in heads
  std::vector<std::string> layer_summary;    // one cell at the end of each layer's row
  std::string summary_name;                  // heading of that column
};

std::string render_heat_map(const HeatMap& map);

// shares: layers x query heads, 0 to 1; negative: the layer is not changed by Focus.
HeatMap far_mass_map(const std::vector<std::vector<double>>& shares);

// reads: layers x heads, groups read a query; negative: not changed by Focus.
HeatMap reads_map(const std::vector<std::vector<int>>& reads);

}  // namespace focus
