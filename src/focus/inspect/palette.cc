#include "focus/inspect/palette.h"

#include <algorithm>
#include <cmath>

namespace focus {
namespace {

constexpr Rgb kBlack{0, 0, 0};
constexpr Rgb kWhite{255, 255, 255};

uint8_t to_byte(double unit) {
  return static_cast<uint8_t>(std::lround(255 * std::clamp(unit, 0.0, 1.0)));
}

double linear_light(uint8_t channel) {
  const double unit = channel / 255.0;
  return unit <= 0.04045 ? unit / 12.92 : std::pow((unit + 0.055) / 1.055, 2.4);
}

double luminance(Rgb color) {
  return 0.2126 * linear_light(color.r) + 0.7152 * linear_light(color.g) +
         0.0722 * linear_light(color.b);
}

// hue in degrees; saturation and lightness from 0 to 1.
Rgb from_hsl(double hue, double saturation, double lightness) {
  const double amplitude = saturation * std::min(lightness, 1 - lightness);
  const auto channel = [&](double offset) {
    const double k = std::fmod(offset + hue / 30, 12.0);
    return to_byte(lightness - amplitude * std::max(-1.0, std::min({k - 3, 9 - k, 1.0})));
  };
  return {channel(0), channel(8), channel(4)};
}

Rgb mix(Rgb from, Rgb to, double share) {
  const auto channel = [&](uint8_t a, uint8_t b) {
    return to_byte((a + (static_cast<double>(b) - a) * share) / 255);
  };
  return {channel(from.r, to.r), channel(from.g, to.g), channel(from.b, to.b)};
}

// Black or white, whichever contrasts more: never below sqrt(21) = 4.58.
Swatch with_text(Rgb background) {
  const bool black = contrast(background, kBlack) >= contrast(background, kWhite);
  return {background, black ? kBlack : kWhite};
}

}  // namespace

std::string to_hex(Rgb color) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "#";
  for (const uint8_t channel : {color.r, color.g, color.b}) {
    out += kDigits[channel / 16];
    out += kDigits[channel % 16];
  }
  return out;
}

double contrast(Rgb a, Rgb b) {
  const double first = luminance(a) + 0.05, second = luminance(b) + 0.05;
  return std::max(first, second) / std::min(first, second);
}

Swatch group_swatch(int group, Scheme scheme) {
  const double hue = std::fmod(group * 137.50776405, 360.0);
  const int shade = group % 3;
  return scheme == Scheme::kLight ? with_text(from_hsl(hue, 0.75, 0.86 - 0.07 * shade))
                                  : with_text(from_hsl(hue, 0.55, 0.22 + 0.05 * shade));
}

Swatch level_swatch(int level, Scheme scheme) {
  const double share = std::clamp(level, 0, kLevels - 1) / (kLevels - 1.0);
  return scheme == Scheme::kLight ? with_text(mix({0xf0, 0xf5, 0xfb}, {0x08, 0x38, 0x70}, share))
                                  : with_text(mix({0x1c, 0x25, 0x30}, {0xa6, 0xd3, 0xff}, share));
}

}  // namespace focus
