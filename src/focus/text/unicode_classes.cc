#include "focus/text/unicode_classes.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace focus {
namespace {

struct Range {
  char32_t first, last;
};

struct Addition {
  char32_t first, last;
  const char* group;  // general category, script, or "Digits" (numbers to the Digits rule only)
};

constexpr Addition kAdditions[] = {
#include "focus/text/unicode_additions.inc"
};

constexpr Range kSpaces[] = {{0x9, 0xD},       {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                             {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                             {0x205F, 0x205F}, {0x3000, 0x3000}};

// Alphabetic symbols (category So) count as word characters.
constexpr Range kWordSymbols[] = {
    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
// So do the numbers of Latin-1, to Oniguruma alone.
constexpr Range kWordNumbers[] = {{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}};

constexpr std::string_view kWordCategories[] = {"L", "M", "Nd", "Nl", "Pc"};

template <size_t n>
bool contains(const Range (&ranges)[n], char32_t code_point) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](const Range& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

std::string range_text(char32_t first, char32_t last) {
  char text[40];
  std::snprintf(text, sizeof text, "\\x{%X}-\\x{%X}", static_cast<unsigned>(first),
                static_cast<unsigned>(last));
  return text;
}

template <size_t n>
std::string range_text(const Range (&ranges)[n]) {
  std::string text;
  for (const Range& range : ranges) text += range_text(range.first, range.last);
  return text;
}

std::string_view category_of(char32_t code_point) {
  for (const Addition& addition : kAdditions) {
    if (addition.first <= code_point && code_point <= addition.last) return addition.group;
  }
  return utf8proc_category_string(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

bool is_space(char32_t code_point) { return contains(kSpaces, code_point); }

bool is_number(char32_t code_point) {
  if (code_point < 0x80) return code_point >= '0' && code_point <= '9';
  const std::string_view category = category_of(code_point);
  return category.front() == 'N' || category == "Digits";
}

bool is_word(char32_t code_point) {
  if (code_point == 0x200C || code_point == 0x200D) return true;  // Join_Control
  const std::string_view category = category_of(code_point);
  for (const std::string_view word : kWordCategories) {
    if (category.substr(0, word.size()) == word) return true;
  }
  return contains(kWordSymbols, code_point);
}

std::string space_members() { return range_text(kSpaces); }

std::string non_space_members() {
  std::string text;
  char32_t next = 0;
  for (const Range& range : kSpaces) {
    text += range_text(next, range.first - 1);
    next = range.last + 1;
  }
  // Surrogates may not be named in a class, and no valid text holds one.
  return text + range_text(next, 0xD7FF) + range_text(0xE000, 0x10FFFF);
}

std::string word_members() {
  std::string text = range_text(kWordSymbols) + range_text(kWordNumbers);
  for (const std::string_view word : kWordCategories) text += property_members(word);
  return text;
}

std::string property_members(std::string_view name) {
  std::string text = "\\p{" + std::string(name) + "}";
  const auto is_category = [](std::string_view group) { return group.size() <= 2; };
  for (const Addition& addition : kAdditions) {
    const std::string_view group = addition.group;
    if (group == name || (is_category(group) && group.substr(0, name.size()) == name)) {
      text += range_text(addition.first, addition.last);
    }
  }
  return text;
}

}  // namespace focus
