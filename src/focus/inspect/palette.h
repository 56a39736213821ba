// The page's computed colours, for light and dark schemes, each with a text colour that can be read
// on it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace focus {

enum class Scheme { kLight, kDark };

struct Rgb {
  uint8_t r, g, b;
};

// A background and the text on it; their contrast is at least 4.5 to 1.
struct Swatch {
  Rgb background, text;
};

std::string to_hex(Rgb color);  // "#rrggbb"

// (lighter + 0.05) / (darker + 0.05) of the relative luminances, 1 to 21 (WCAG 2.1).
double contrast(Rgb a, Rgb b);

// Hue by the golden angle (137.508 degrees times `group`), so that neighbouring ids lie far apart
// and any number of first groups is spread evenly; lightness alternates to part the closest hues.
Swatch group_swatch(int group, Scheme scheme);

// The steps of a sequential scale: level 0 is closest to the page's background.
inline constexpr int kLevels = 11;
Swatch level_swatch(int level, Scheme scheme);

}  // namespace focus
