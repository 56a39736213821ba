#include "focus/inspect/palette.h"

#include <gtest/gtest.h>

#include <set>

namespace focus {
namespace {

TEST(Palette, ContrastOfKnownColours) {
  EXPECT_NEAR(contrast({0, 0, 0}, {255, 255, 255}), 21.0, 1e-9);
  EXPECT_NEAR(contrast({119, 119, 119}, {255, 255, 255}), 4.48, 0.005);
  EXPECT_EQ(contrast({10, 20, 30}, {10, 20, 30}), 1.0);
}

TEST(Palette, TextCanBeReadOnEveryGroup) {
  for (const Scheme scheme : {Scheme::kLight, Scheme::kDark}) {
    for (int group = 0; group < 256; ++group) {
      const Swatch swatch = group_swatch(group, scheme);
      EXPECT_GE(contrast(swatch.background, swatch.text), 4.5) << group;
    }
  }
}

TEST(Palette, GroupsDiffer) {
  for (const Scheme scheme : {Scheme::kLight, Scheme::kDark}) {
    std::set<std::string> seen;
    for (int group = 0; group < 256; ++group) {
      seen.insert(to_hex(group_swatch(group, scheme).background));
    }
    EXPECT_GE(seen.size(), 250u);
  }
}

TEST(Palette, NeighboursAreFarApart) {
  for (int group = 0; group + 1 < 256; ++group) {
    const Rgb a = group_swatch(group, Scheme::kLight).background;
    const Rgb b = group_swatch(group + 1, Scheme::kLight).background;
    EXPECT_GE(std::abs(a.r - b.r) + std::abs(a.g - b.g) + std::abs(a.b - b.b), 40) << group;
  }
}

TEST(Palette, LevelsMoveAwayFromThePage) {
  for (const Scheme scheme : {Scheme::kLight, Scheme::kDark}) {
    const Rgb page = scheme == Scheme::kLight ? Rgb{255, 255, 255} : Rgb{0x12, 0x16, 0x1b};
    double last = 1.0;
    for (int level = 0; level < kLevels; ++level) {
      const Swatch swatch = level_swatch(level, scheme);
      EXPECT_GE(contrast(swatch.background, swatch.text), 4.5) << level;
      EXPECT_GT(contrast(swatch.background, page), last) << level;
      last = contrast(swatch.background, page);
    }
  }
}

TEST(Palette, Hex) { EXPECT_EQ(to_hex({0, 10, 255}), "#000aff"); }

}  // namespace
}  // namespace focus
