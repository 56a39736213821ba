// Unicode normal forms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace focus {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// Valid UTF-8 in the given form. Time n log n however many combining marks stand in a row.
std::string normalize(std::string_view text, NormalForm form);

// One form after the other.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalForm> forms) : forms_(std::move(forms)) {}
  std::string apply(std::string_view text) const;
  bool empty() const { return forms_.empty(); }

 private:
  std::vector<NormalForm> forms_;
};

}  // namespace focus
