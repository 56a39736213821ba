#include "focus/eval/eval_row.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <sstream>

namespace focus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<EvalRow> sample_rows() {
  return {{"dense", 1, 1, std::nullopt, 27.6449, 0.32, 1.0},
          {"window 136 + 4 sinks", 0.243, 0.243, std::nullopt, 30.78, 3.60, std::nullopt},
          {"own keys, naïve", 0.2265, 0.2465, 51.25, kInfinity, kNan, 0.66}};
}

TEST(EvalRow, JsonHasExactlyTheKeys) {
  const nlohmann::json array = to_json(sample_rows());
  ASSERT_TRUE(array.is_array());
  ASSERT_EQ(array.size(), 3u);
  const std::set<std::string> expected = {"mask",       "pairs",     "cost",    "effective_groups",
                                          "perplexity", "copy_nats", "far_mass"};
  for (const auto& object : array) {
    std::set<std::string> keys;
    for (const auto& item : object.items()) keys.insert(item.key());
    EXPECT_EQ(keys, expected);
  }
  EXPECT_EQ(array[0]["mask"], "dense");
  EXPECT_EQ(array[0]["perplexity"].get<double>(), 27.6449);
  EXPECT_EQ(array[2]["effective_groups"].get<double>(), 51.25);
}

TEST(EvalRow, JsonIsNullWhereAbsentOrNotFinite) {
  const nlohmann::json array = nlohmann::json::parse(to_json(sample_rows()).dump());
  EXPECT_TRUE(array[0]["effective_groups"].is_null());
  EXPECT_TRUE(array[1]["far_mass"].is_null());
  EXPECT_TRUE(array[2]["perplexity"].is_null());
  EXPECT_TRUE(array[2]["copy_nats"].is_null());
  EXPECT_EQ(to_json({}).dump(), "[]");
}

TEST(EvalRow, TableLinesUp) {
  EXPECT_EQ(format_table(sample_rows()),
            "mask                  pairs   cost  eff. groups  perplexity  copy (nats)  far mass\n"
            "dense                 1.000  1.000            -       27.64        0.320     1.000\n"
            "window 136 + 4 sinks  0.243  0.243            -       30.78        3.600         -\n"
            "own keys, naïve       0.227  0.246         51.2         n/a          n/a     0.660\n");
}

TEST(EvalRow, TableWidensForLongCells) {
  std::vector<EvalRow> rows = sample_rows();
  rows[0].perplexity = 1e300;
  rows[1].pairs = 123456.0;
  std::istringstream lines(format_table(rows));
  std::set<size_t> widths;
  for (std::string line; std::getline(lines, line);) {
    size_t characters = 0;
    for (const char c : line) characters += (c & 0xC0) != 0x80;
    widths.insert(characters);
  }
  EXPECT_EQ(widths.size(), 1u);
}

TEST(EvalRow, FormatsEveryDouble) {
  EXPECT_EQ(format_fixed(0.5, 3), "0.500");
  EXPECT_EQ(format_fixed(-12.345, 1), "-12.3");
  EXPECT_EQ(format_fixed(1e300, 2), "1.00e+300");
  EXPECT_EQ(format_fixed(std::numeric_limits<double>::lowest(), 3), "-1.798e+308");
  EXPECT_EQ(format_fixed(kNan, 2), "n/a");
  EXPECT_EQ(format_fixed(-kInfinity, 2), "n/a");
}

}  // namespace
}  // namespace focus
