#include "focus/inspect/heat_map.h"

#include <gtest/gtest.h>

#include <limits>

#include "focus/inspect/html_check.h"
#include "focus/inspect/palette.h"

namespace focus {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(HeatMap, FarMassCells) {
  const HeatMap map = far_mass_map({{0.0, 0.56, 1.0}, {-1, -1, -1}, {kNan, 0.5, 1.2}});
  EXPECT_EQ(map.cells[0][0].text, ".00");
  EXPECT_EQ(map.cells[0][0].level, 0);
  EXPECT_EQ(map.cells[0][1].text, ".56");
  EXPECT_EQ(map.cells[0][1].level, 6);
  EXPECT_EQ(map.cells[0][2].text, "1.00");
  EXPECT_EQ(map.cells[0][2].level, kLevels - 1);
  EXPECT_EQ(map.cells[1][0].title, "not changed by Focus");
  EXPECT_EQ(map.cells[1][0].level, -1);
  EXPECT_EQ(map.cells[2][0].text, "n/a");
  EXPECT_EQ(map.cells[2][2].level, kLevels - 1);
  EXPECT_EQ(map.layer_summary[0], ".52");
  EXPECT_EQ(map.layer_summary[1], "\u2013");
  EXPECT_EQ(map.layer_summary[2], ".85");
  EXPECT_NE(map.caption.find("Mean: 0.652."), std::string::npos) << map.caption;
  EXPECT_EQ(map.key.back().level, -1);
}

TEST(HeatMap, InfinityIsNoMass) {
  const double infinity = std::numeric_limits<double>::infinity();
  const HeatMap map = far_mass_map({{-infinity, infinity}});
  EXPECT_EQ(map.cells[0][0].text, "n/a");
  EXPECT_EQ(map.cells[0][1].text, "n/a");
  EXPECT_NE(map.caption.find("Mean: n/a."), std::string::npos);
}

TEST(HeatMap, ReadsAreShadedByDoublings) {
  const HeatMap map = reads_map({{0, 1, 2, 3, 4}, {5, 8, 9, 16, -1}});
  std::vector<std::string> names;
  for (const HeatKey& key : map.key) names.push_back(key.text);
  EXPECT_EQ(names, (std::vector<std::string>{"0", "1", "2", "3\u20134", "5\u20138", "9\u201316",
                                             "not changed by Focus"}));
  EXPECT_EQ(map.cells[0][3].level, map.cells[0][4].level);
  EXPECT_LT(map.cells[0][2].level, map.cells[0][3].level);
  EXPECT_EQ(map.cells[1][0].level, map.cells[1][1].level);
  EXPECT_LT(map.cells[1][1].level, map.cells[1][2].level);
  EXPECT_EQ(map.cells[1][3].level, kLevels - 1);
  EXPECT_EQ(map.cells[0][1].title, "1 group read");
  EXPECT_EQ(map.layer_summary[0], "2.0");
  EXPECT_EQ(map.layer_summary[1], "9.5");
}

TEST(HeatMap, ExtremesOfReads) {
  for (const int reads : {0, 1, 256, 1 << 30, std::numeric_limits<int>::max()}) {
    const HeatMap map = reads_map({{reads}});
    EXPECT_EQ(map.cells[0][0].text,
              reads < 10000000 ? std::to_string(reads) : map.cells[0][0].text);
    EXPECT_GE(map.cells[0][0].level, 0);
    EXPECT_LT(map.cells[0][0].level, kLevels);
    EXPECT_EQ(find_html_fault(render_heat_map(map)), "");
  }
}

TEST(HeatMap, RaggedLayersStayATable) {
  const std::string html = render_heat_map(reads_map({{1, 2, 3}, {}, {4}}));
  EXPECT_EQ(find_html_fault(html), "");
  size_t cells = 0;
  for (size_t at = html.find("<td"); at != std::string::npos; at = html.find("<td", at + 1))
    ++cells;
  EXPECT_EQ(cells, 3u * 4u);
  EXPECT_NE(html.find("title=\"layer 2, head 0: 4 groups read\">4<"), std::string::npos);
}

}  // namespace
}  // namespace focus
