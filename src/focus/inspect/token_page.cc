#include "focus/inspect/token_page.h"

#include <algorithm>
#include <map>
#include <set>

#include "focus/eval/eval_row.h"
#include "focus/inspect/html.h"
#include "focus/inspect/palette.h"
#include "focus/text/utf8_stream.h"

namespace focus {
namespace {

constexpr size_t kLegendGroups = 12;
constexpr size_t kLegendSamples = 6;

std::string group_class(int group) { return group < 0 ? "gnone" : numbered("g", group); }

std::string group_name(int group) { return group < 0 ? "no group" : numbered("group ", group); }

// What each token adds to the text that can be shown.
std::vector<std::string> visible_texts(const std::vector<TokenView>& tokens) {
  Utf8Stream stream;
  std::vector<std::string> texts;
  for (const TokenView& token : tokens) texts.push_back(stream.push(token.text));
  if (!texts.empty()) texts.back() += stream.finish();
  return texts;
}

struct GroupUse {
  int group = 0;
  size_t count = 0;
  std::map<std::string, size_t> words;  // shown text and how often

  // The most frequent texts, blank ones left out.
  std::vector<std::string> samples() const {
    std::vector<std::pair<std::string, size_t>> order;
    for (const auto& word : words) order.push_back(word);
    // Words before white space, which is shown only where a group holds little else.
    const auto blank = [](const std::string& text) {
      return text.find_first_not_of(" \t\r\n") == std::string::npos;
    };
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return blank(a.first) != blank(b.first) ? blank(b.first) : a.second > b.second;
    });
    std::vector<std::string> texts;
    for (const auto& word : order) {
      if (texts.size() < kLegendSamples) texts.push_back(word.first);
    }
    return texts;
  }
};

// Groups by falling size, then by number.
std::vector<GroupUse> count_groups(const std::vector<TokenView>& tokens,
                                   const std::vector<std::string>& texts) {
  std::map<int, GroupUse> by_group;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int group = std::max(tokens[i].group, -1);
    GroupUse& use = by_group[group];
    use.group = group;
    ++use.count;
    ++use.words[texts[i]];
  }
  std::vector<GroupUse> uses;
  for (auto& [group, use] : by_group) uses.push_back(std::move(use));
  std::stable_sort(uses.begin(), uses.end(),
                   [](const GroupUse& a, const GroupUse& b) { return a.count > b.count; });
  return uses;
}

std::string render_legend(const std::vector<GroupUse>& uses, size_t tokens) {
  const size_t shown = std::min(uses.size(), kLegendGroups);
  std::string html = "<table class=\"groups\">\n<caption>The " +
                     (shown == uses.size() ? std::string() : "largest ") + std::to_string(shown) +
                     (shown == 1 ? " group" : " groups") + " of " + std::to_string(uses.size()) +
                     " on this page, with their most frequent tokens.</caption>\n"
                     "<thead><tr><th scope=\"col\">group</th><th scope=\"col\">tokens</th>"
                     "<th scope=\"col\">share</th><th scope=\"col\">samples</th></tr></thead>\n"
                     "<tbody>\n";
  for (size_t i = 0; i < shown; ++i) {
    const GroupUse& use = uses[i];
    const std::string look = group_class(use.group);
    const std::string id = std::to_string(use.group);
    html += "<tr><th scope=\"row\"><span class=\"chip " + look + "\" data-g=\"" + id + "\">" +
            (use.group < 0 ? "none" : id) + "</span></th><td>" + std::to_string(use.count) +
            "</td><td>" +
            format_fixed(100.0 * static_cast<double>(use.count) / static_cast<double>(tokens), 1) +
            "%</td><td class=\"samples\">";
    for (const std::string& text : use.samples()) {
      html += "<span class=\"" + look + "\">" + escape_html_show_whitespace(text) + "</span> ";
    }
    html += "</td></tr>\n";
  }
  html += "</tbody>\n</table>\n";
  return html;
}

void append_rules(std::string& css, const std::set<int>& groups, Scheme scheme) {
  for (const int group : groups) {
    const Swatch swatch = group_swatch(group, scheme);
    css += '.' + group_class(group) + "{background:" + to_hex(swatch.background) +
           ";color:" + to_hex(swatch.text) + "}\n";
  }
}

}  // namespace

std::string render_token_page(const std::vector<TokenView>& tokens) {
  const std::vector<std::string> texts = visible_texts(tokens);
  std::string html = render_legend(count_groups(tokens, texts), tokens.size());
  html +=
      "<p class=\"chosen\" id=\"chosen\" role=\"status\"></p>\n<div class=\"tokens\" "
      "id=\"tokens\">";
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int group = std::max(tokens[i].group, -1);
    html += "<span class=\"" + group_class(group) + "\" data-g=\"" + std::to_string(group) +
            "\" title=\"" + group_name(group) + ", token " + std::to_string(i) + "\">";
    html += texts[i].empty() ? "<i class=\"part\"></i>" : escape_html_show_whitespace(texts[i]);
    html += "</span>";
  }
  html += "</div>\n";
  return html;
}

std::string group_styles(const std::vector<TokenView>& tokens) {
  std::set<int> groups;
  for (const TokenView& token : tokens) {
    if (token.group >= 0) groups.insert(token.group);
  }
  std::string css;
  append_rules(css, groups, Scheme::kLight);
  css += "@media (prefers-color-scheme:dark){\n";
  append_rules(css, groups, Scheme::kDark);
  css += "}\n";
  return css;
}

}  // namespace focus
