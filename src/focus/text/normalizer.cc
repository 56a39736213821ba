#include "focus/text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>

#include "focus/text/utf8.h"

namespace focus {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

// The canonical combining class of Unicode; 0 for a starter.
int combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

std::vector<utf8proc_int32_t> decompose(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto code_point = static_cast<utf8proc_int32_t>(next_code_point(text, at));
    utf8proc_int32_t parts[32];  // the longest decomposition in Unicode has 18
    int boundary = 0;
    const auto n = utf8proc_decompose_char(code_point, parts, 32, options, &boundary);
    if (n < 1 || n > 32) {
      out.push_back(code_point);
    } else {
      out.insert(out.end(), parts, parts + n);
    }
  }
  return out;
}

// utf8proc's own reordering is quadratic in the length of a run of marks.
void order_marks(std::vector<utf8proc_int32_t>& text) {
  const auto is_mark = [](utf8proc_int32_t c) { return combining_class(c) != 0; };
  for (auto run = text.begin(); run != text.end();) {
    run = std::find_if(run, text.end(), is_mark);
    const auto end = std::find_if_not(run, text.end(), is_mark);
    std::stable_sort(run, end,
                     [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    run = end;
  }
}

}  // namespace

std::string normalize(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> code_points = decompose(text, options);
  order_marks(code_points);
  auto n = static_cast<utf8proc_ssize_t>(code_points.size());
  if (compose) {
    n = utf8proc_normalize_utf32(
        code_points.data(), n, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  }
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < n; ++i) {
    append_utf8(static_cast<char32_t>(code_points[static_cast<size_t>(i)]), out);
  }
  return out;
}

std::string Normalizer::apply(std::string_view text) const {
  std::string out(text);
  for (const NormalForm form : forms_) out = normalize(out, form);
  return out;
}

}  // namespace focus
