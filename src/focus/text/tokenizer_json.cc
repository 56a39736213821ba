// tokenizer.json, as the `tokenizers` library writes it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "focus/base/error.h"
#include "focus/text/byte_alphabet.h"
#include "focus/text/tokenizer_spec.h"

namespace focus {
namespace {

using Json = nlohmann::json;

class Reader {
 public:
  Reader(const std::string& text, const std::string& source) : source_(source) {
    root_ = Json::parse(text, nullptr, false);
    if (root_.is_discarded()) fail("", "JSON", "a syntax error or bytes that are not UTF-8");
    if (!root_.is_object()) fail("", "an object", root_.type_name());
  }

  TokenizerSpec read() {
    spec_.source = source_;
    read_model();
    read_added_tokens();
    spec_.normalizer = Normalizer(normal_forms(member(root_, "normalizer")));
    read_pre_tokenizer();
    const Json& decoder = member(root_, "decoder");
    if (!decoder.is_null() && type_of(decoder, "decoder") != "ByteLevel") {
      refuse("decoder", "ByteLevel", type_of(decoder, "decoder"));
    }
    return std::move(spec_);
  }

 private:
  [[noreturn]] void fail(const std::string& where, const std::string& expected,
                         const std::string& found) const {
    throw Error(ErrorKind::kFormat, where.empty() ? source_ : source_ + " " + where, expected,
                found);
  }

  [[noreturn]] void refuse(const std::string& where, const std::string& expected,
                           const std::string& found) const {
    throw Error(ErrorKind::kUnsupported, source_ + " " + where, expected, in_quotes(found));
  }

  // Null when absent.
  static const Json& member(const Json& object, const char* key) {
    static const Json kNull;
    const auto found = object.find(key);
    return found == object.end() ? kNull : *found;
  }

  std::string text_of(const Json& value, const std::string& where) const {
    if (!value.is_string()) fail(where, "a string", value.type_name());
    return value.get<std::string>();
  }

  bool flag_of(const Json& object, const char* key, bool otherwise,
               const std::string& where) const {
    const Json& value = member(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) fail(where + "." + key, "true or false", value.type_name());
    return value.get<bool>();
  }

  std::string type_of(const Json& object, const std::string& where) const {
    if (!object.is_object()) fail(where, "an object with a type", object.type_name());
    return text_of(member(object, "type"), where + ".type");
  }

  int32_t id_of(const Json& value, const std::string& where) const {
    if (!value.is_number_integer()) fail(where, "an id", value.dump().substr(0, 40));
    // Wide unsigned values wrap below zero, and are refused there.
    const auto id = value.get<int64_t>();
    if (id < 0 || id >= kMostTokens) {
      fail(where, "an id below " + std::to_string(kMostTokens), value.dump());
    }
    return static_cast<int32_t>(id);
  }

  void place(int32_t id, const std::string& token, const std::string& where) {
    const auto at = static_cast<size_t>(id);
    if (spec_.tokens.size() <= at) spec_.tokens.resize(at + 1);
    std::string& slot = spec_.tokens[at];
    if (!slot.empty() && slot != token) {
      fail(where, "one token for id " + std::to_string(id),
           in_quotes(slot) + " and " + in_quotes(token));
    }
    slot = token;
  }

  void read_model() {
    const Json& model = member(root_, "model");
    if (!model.is_object()) fail("model", "an object", model.type_name());
    // Files of old releases name no type; their merges tell.
    const Json& type = member(model, "type");
    if (!type.is_null() && text_of(type, "model.type") != "BPE") {
      refuse("model.type", "BPE", text_of(type, "model.type"));
    }
    const Json& vocab = member(model, "vocab");
    if (!vocab.is_object()) {
      fail("model.vocab", "an object of tokens and ids", vocab.type_name());
    }
    for (const auto& [token, id] : vocab.items()) {
      if (token.empty()) fail("model.vocab", "tokens of at least one character", "an empty token");
      place(id_of(id, "model.vocab"), token, "model.vocab");
    }
    vocab_size_ = static_cast<int32_t>(vocab.size());
    index_ = index_tokens(spec_);
    read_merges(member(model, "merges"));
    spec_.ignore_merges = flag_of(model, "ignore_merges", false, "model");
    check_model_options(model);
  }

  void read_merges(const Json& merges) {
    if (!merges.is_array()) fail("model.merges", "an array", merges.type_name());
    for (const Json& merge : merges) {
      const size_t rank = spec_.merges.size();
      if (merge.is_string()) {
        const auto line = merge.get<std::string>();
        if (line.rfind("#version", 0) == 0) continue;
        spec_.merges.push_back(make_merge(spec_, index_, rank, line));
      } else if (merge.is_array() && merge.size() == 2) {
        spec_.merges.push_back(make_merge(spec_, index_, rank, text_of(merge[0], "model.merges"),
                                          text_of(merge[1], "model.merges")));
      } else {
        fail("model.merges", "\"left right\" or [\"left\", \"right\"]", merge.dump().substr(0, 60));
      }
    }
  }

  // Options that change ids. Those for unknown characters cannot matter when every byte is known.
  void check_model_options(const Json& model) const {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = member(model, key);
      if (!value.is_null() && value != "") refuse("model", "no " + std::string(key), value.dump());
    }
    if (const Json& dropout = member(model, "dropout"); !dropout.is_null() && dropout != 0.0) {
      refuse("model", "no dropout", dropout.dump());
    }
    bool all_bytes = true;
    for (int byte = 0; byte < 256; ++byte) {
      const std::string one(1, static_cast<char>(byte));
      all_bytes = all_bytes && index_.find(to_byte_alphabet(one)) != index_.end();
    }
    if (all_bytes) return;
    if (flag_of(model, "byte_fallback", false, "model")) {
      refuse("model", "no byte_fallback", "true");
    }
    if (const Json& unknown = member(model, "unk_token"); !unknown.is_null()) {
      refuse("model", "no unk_token where bytes are missing in the vocabulary", unknown.dump());
    }
  }

  void read_added_tokens() {
    const Json& tokens = member(root_, "added_tokens");
    if (tokens.is_null()) return;
    if (!tokens.is_array()) fail("added_tokens", "an array", tokens.type_name());
    int32_t next = vocab_size_;  // as the library numbers them
    for (const Json& entry : tokens) {
      if (!entry.is_object()) fail("added_tokens", "objects", entry.type_name());
      AddedToken token;
      token.content = text_of(member(entry, "content"), "added_tokens.content");
      if (token.content.empty()) fail("added_tokens", "a content", "an empty one");
      token.id = id_of(member(entry, "id"), "added_tokens.id");
      token.special = flag_of(entry, "special", false, "added_tokens");
      token.normalized = flag_of(entry, "normalized", !token.special, "added_tokens");
      token.lstrip = flag_of(entry, "lstrip", false, "added_tokens");
      token.rstrip = flag_of(entry, "rstrip", false, "added_tokens");
      token.single_word = flag_of(entry, "single_word", false, "added_tokens");
      const auto known = index_.find(token.content);
      const int32_t expected = known == index_.end() ? next : known->second;
      if (token.id != expected) {
        fail("added token " + in_quotes(token.content), "id " + std::to_string(expected),
             std::to_string(token.id));
      }
      if (known == index_.end()) {
        place(token.id, token.content, "added_tokens");
        index_.emplace(token.content, token.id);
      }
      next = std::max(next, token.id + 1);
      spec_.added.push_back(std::move(token));
    }
    std::stable_sort(spec_.added.begin(), spec_.added.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    for (size_t i = 1; i < spec_.added.size(); ++i) {
      if (spec_.added[i].id == spec_.added[i - 1].id) {
        fail("added_tokens", "one entry for a token",
             "two of " + in_quotes(spec_.added[i].content));
      }
    }
  }

  std::vector<NormalForm> normal_forms(const Json& normalizer) const {
    if (normalizer.is_null()) return {};
    const std::string type = type_of(normalizer, "normalizer");
    if (type == "NFC") return {NormalForm::kNfc};
    if (type == "NFD") return {NormalForm::kNfd};
    if (type == "NFKC") return {NormalForm::kNfkc};
    if (type == "NFKD") return {NormalForm::kNfkd};
    if (type != "Sequence") refuse("normalizer", "NFC, NFD, NFKC, NFKD or Sequence", type);
    std::vector<NormalForm> forms;
    for (const Json& each : list_of(normalizer, "normalizers")) {
      if (each.is_object() && member(each, "type") == "Sequence") {
        refuse("normalizer", "a flat Sequence", "a Sequence inside a Sequence");
      }
      const auto more = normal_forms(each);
      forms.insert(forms.end(), more.begin(), more.end());
    }
    return forms;
  }

  const Json& list_of(const Json& object, const char* key) const {
    const Json& list = member(object, key);
    if (!list.is_array()) fail(key, "an array", list.type_name());
    return list;
  }

  void read_pre_tokenizer() {
    const Json& pre = member(root_, "pre_tokenizer");
    const std::string expected = "a byte-level pre-tokenizer";
    if (pre.is_null()) refuse("pre_tokenizer", expected, "none");
    std::vector<PreTokenizerStep> steps;
    int prefix_at = -1;
    bool bytes = false;
    const auto add = [&](const Json& each) {
      const std::string type = type_of(each, "pre_tokenizer");
      if (bytes) refuse("pre_tokenizer", "nothing behind ByteLevel", type);
      if (type == "ByteLevel") {
        bytes = true;
        if (flag_of(each, "add_prefix_space", true, type)) {
          prefix_at = static_cast<int>(steps.size());
        }
        if (flag_of(each, "use_regex", true, type)) {
          steps.emplace_back(SplitStep{Regex::compile(kByteLevelPattern)});
        }
      } else if (type == "Digits") {
        steps.emplace_back(DigitsStep{flag_of(each, "individual_digits", false, type)});
      } else if (type == "Split") {
        steps.emplace_back(split_step(each));
      } else {
        refuse("pre_tokenizer", "ByteLevel, Digits, Split or Sequence", type);
      }
    };
    if (type_of(pre, "pre_tokenizer") == "Sequence") {
      for (const Json& each : list_of(pre, "pretokenizers")) add(each);
    } else {
      add(pre);
    }
    if (!bytes) refuse("pre_tokenizer", expected, pre.dump().substr(0, 60));
    spec_.pre_tokenizer = PreTokenizer(std::move(steps), prefix_at);
  }

  SplitStep split_step(const Json& split) const {
    const Json& pattern = member(split, "pattern");
    if (!pattern.is_object()) fail("Split.pattern", "an object", pattern.type_name());
    const Json& literal = member(pattern, "String");
    const std::string text =
        text_of(literal.is_null() ? member(pattern, "Regex") : literal, "Split.pattern");
    if (!literal.is_null() && text.empty()) refuse("Split.pattern", "some text", text);
    return {literal.is_null() ? compile(text) : Regex::literal(text),
            behavior_of(text_of(member(split, "behavior"), "Split.behavior")),
            flag_of(split, "invert", false, "Split")};
  }

  Regex compile(const std::string& pattern) const {
    try {
      return Regex::compile(pattern);
    } catch (const Error& error) {
      throw Error(error.kind(), source_ + " " + error.subject(), error.expected(), error.found(),
                  error.hint());
    }
  }

  SplitBehavior behavior_of(const std::string& name) const {
    if (name == "Isolated") return SplitBehavior::kIsolated;
    if (name == "Removed") return SplitBehavior::kRemoved;
    if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
    if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
    if (name == "Contiguous") return SplitBehavior::kContiguous;
    refuse("Split.behavior", "a known behavior", name);
  }

  std::string source_;
  Json root_;
  TokenizerSpec spec_;
  StringMap<int32_t> index_;
  int32_t vocab_size_ = 0;
};

}  // namespace

TokenizerSpec spec_from_json(const std::string& text, const std::string& source) {
  return Reader(text, source).read();
}

}  // namespace focus
