#include "focus/inspect/html_check.h"

#include <cctype>
#include <set>
#include <vector>

namespace focus {
namespace {

const std::set<std::string, std::less<>> kVoid = {"meta", "link", "br", "hr", "img", "input"};
const std::set<std::string, std::less<>> kRaw = {"script", "style"};

class Checker {
 public:
  explicit Checker(std::string_view html) : html_(html) {}

  std::string run() {
    constexpr std::string_view kDoctype = "<!DOCTYPE html>";
    if (html_.starts_with(kDoctype)) at_ = kDoctype.size();
    while (at_ < html_.size() && fault_.empty()) {
      if (html_[at_] != '<') {
        text_char('<');
      } else if (html_.substr(at_).starts_with("</")) {
        close_tag();
      } else {
        open_tag();
      }
    }
    if (fault_.empty() && !open_.empty()) fail("never closed: " + open_.back());
    return fault_;
  }

 private:
  void fail(const std::string& what) {
    if (fault_.empty()) {
      fault_ = what + " at byte " + std::to_string(at_) + ": " + std::string(html_.substr(at_, 60));
    }
  }

  // One character of text or of an attribute's value.
  void text_char(char forbidden) {
    const auto code = static_cast<unsigned char>(html_[at_]);
    if (html_[at_] == forbidden || html_[at_] == '>') return fail("bare angle bracket");
    if ((code < 0x20 && code != '\n' && code != '\t') || code == 0x7F) return fail("control");
    if (html_[at_] == '&') {
      const size_t end = html_.find(';', at_);
      const std::string_view name = html_.substr(at_ + 1, end - at_ - 1);
      static const std::set<std::string, std::less<>> kKnown = {"amp", "lt", "gt", "quot", "#39"};
      if (end == std::string_view::npos || !kKnown.contains(name)) return fail("bare ampersand");
    }
    ++at_;
  }

  std::string name() {
    const size_t begin = at_;
    while (at_ < html_.size() && (std::isalnum(static_cast<unsigned char>(html_[at_])) ||
                                  html_[at_] == '-' || html_[at_] == ':')) {
      ++at_;
    }
    return std::string(html_.substr(begin, at_ - begin));
  }

  void close_tag() {
    at_ += 2;
    const std::string tag = name();
    if (open_.empty() || open_.back() != tag) {
      return fail("</" + tag + "> closes " + (open_.empty() ? "nothing" : open_.back()));
    }
    open_.pop_back();
    expect('>');
  }

  void open_tag() {
    ++at_;
    const std::string tag = name();
    if (tag.empty()) return fail("bare <");
    std::set<std::string> attributes;
    while (fault_.empty() && at_ < html_.size() && html_[at_] == ' ') {
      ++at_;
      const std::string attribute = name();
      if (attribute.empty()) return fail("no attribute after a space");
      if (!attributes.insert(attribute).second) return fail("attribute twice");
      if (at_ < html_.size() && html_[at_] == '=') value(attribute == "id");
    }
    if (!fault_.empty()) return;
    if (html_.substr(at_).starts_with("/>")) {
      at_ += 2;
      return;
    }
    expect('>');
    if (kVoid.contains(tag)) return;
    open_.push_back(tag);
    if (kRaw.contains(tag)) {
      at_ = html_.find("</" + tag, at_);
      if (at_ == std::string_view::npos) at_ = html_.size();
    }
  }

  void value(bool is_id) {
    ++at_;
    expect('"');
    const size_t begin = at_;
    while (fault_.empty() && at_ < html_.size() && html_[at_] != '"') text_char('<');
    if (is_id && !ids_.insert(std::string(html_.substr(begin, at_ - begin))).second) {
      return fail("id twice");
    }
    expect('"');
  }

  void expect(char c) {
    if (!fault_.empty()) return;
    if (at_ >= html_.size() || html_[at_] != c) return fail(std::string("expected ") + c);
    ++at_;
  }

  std::string_view html_;
  size_t at_ = 0;
  std::vector<std::string> open_;
  std::set<std::string> ids_;
  std::string fault_;
};

}  // namespace

std::string find_html_fault(std::string_view html) { return Checker(html).run(); }

}  // namespace focus
