#include "focus/inspect/html.h"

#include "focus/text/utf8_stream.h"

namespace focus {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string valid_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  text += stream.finish();
  return text;
}

// U+2400 + code: the picture of an ASCII control character.
std::string control_picture(unsigned char code) {
  return std::string("\xE2\x90") + static_cast<char>(0x80 + (code == 0x7F ? 0x21 : code));
}

bool is_c1_control(std::string_view rest) {
  return rest.size() >= 2 && rest[0] == '\xC2' && static_cast<unsigned char>(rest[1]) < 0xA0;
}

// U+202A to U+202E and U+2066 to U+2069.
bool is_bidi_control(std::string_view rest) {
  if (rest.size() < 3 || rest[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(rest[1]);
  const auto third = static_cast<unsigned char>(rest[2]);
  return (second == 0x80 && third >= 0xAA && third <= 0xAE) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

std::string escape(std::string_view bytes, bool show_whitespace) {
  const std::string text = valid_utf8(bytes);
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    const std::string_view rest = std::string_view(text).substr(i);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '\n') {
      out += show_whitespace ? "<i class=\"newline\"></i>\n" : "\n";
    } else if (c == '\t') {
      out += show_whitespace ? "<i class=\"tab\"></i>\t" : "\t";
    } else if (code < 0x20 || code == 0x7F) {
      out += control_picture(code);
    } else if (is_c1_control(rest)) {
      out += kReplacement;
      i += 1;
    } else if (is_bidi_control(rest)) {
      out += kReplacement;
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string escape_html(std::string_view bytes) { return escape(bytes, false); }

std::string escape_html_show_whitespace(std::string_view bytes) { return escape(bytes, true); }

std::string numbered(std::string_view prefix, int64_t number) {
  // Appended to, not added: g++ 12 warns wrongly (-Wrestrict) about a literal + std::string&&.
  std::string name(prefix);
  name += std::to_string(number);
  return name;
}

}  // namespace focus
