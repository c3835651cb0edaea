#include <map>
#include <set>
#include <utility>

#include "change/rules/key_values.h"
#include "change/rules/yaml_scanner.h"

namespace cloche::rules {
namespace {

// Accepts what all YAML parsers agree on: block and flow style, scalars of all kinds, anchors,
// merge keys, several documents. Everything else (directives, complex keys, tabs where they matter)
// fails, so that no answer depends on one parser.
class Reader : private YamlScanner {
 public:
  explicit Reader(std::string_view text) : YamlScanner(text) {}

  std::optional<KeyValues> Read() {
    while (Documents()) {
    }
    if (failed_ || at_ < text_.size()) return std::nullopt;
    return std::move(out_);
  }

 private:
  struct Anchor {
    size_t first = 0;
    size_t end = 0;
    std::string path;
    bool open = true;
  };

  // --- results

  bool Add(const std::string& key, std::string value) {
    if (out_.size() >= kMaxKeyValues || key.size() > kMaxKey) return Fail();
    out_.push_back({key, std::move(value)});
    return true;
  }
  static std::string Below(const std::string& path, std::string_view name) {
    std::string key = path;
    if (!key.empty()) key.push_back('.');
    return key.append(NameInKey(name));
  }

  // --- documents

  bool Documents() {
    if (!Skip(false) || failed_) return false;
    if (Peek() == '%') return Fail();
    if (AtMarker()) {
      const bool ends = Peek() == '.';
      at_ += 3;
      if (!RestIsEmpty()) return Fail();
      if (ends || !Skip(false) || failed_ || AtMarker()) return !failed_;
    }
    anchors_.clear();
    if (!Node("", kNoIndent, kNoIndent)) return false;
    if (Skip(false) && !failed_ && !AtMarker()) return Fail();
    return !failed_;
  }

  // --- nodes

  // A node in a block. Its lines must be indented beyond column `parent`; a list may still stand at
  // column `lists`. Starts at its first character.
  bool Node(const std::string& path, int parent, int lists) {
    if (++depth_ > kMaxDepth) return Fail();
    const bool fine = Inner(path, parent, lists);
    --depth_;
    return fine;
  }

  bool Inner(const std::string& path, int parent, int lists) {
    std::string anchor;
    const int line_of_marks = Marks(anchor);
    if (failed_) return false;
    bool fresh_line = line_of_marks == 0;
    if (line_of_marks != 0) {
      // Marks at the end of a line belong to the block that follows.
      if (RestIsEmpty()) {
        if (!Skip(false) || AtMarker() || failed_ ||
            (Column() <= parent && !(Column() == lists && AtDash())))
          return !failed_ && Named(anchor, path, [&] { return Add(path, ""); });
        fresh_line = true;
        if (Peek() == '&' || Peek() == '!') return Fail();
      }
    }
    return Named(anchor, path, [&] { return Content(path, parent, fresh_line, anchor.empty()); });
  }

  template <typename Read>
  bool Named(const std::string& anchor, const std::string& path, Read read) {
    if (anchor.empty()) return read();
    if (anchors_.contains(anchor)) return Fail();  // parsers refuse it, or take the last one
    anchors_[anchor] = {.first = out_.size(), .path = path};
    if (!read()) return false;
    Anchor& made = anchors_[anchor];
    made.end = out_.size();
    made.open = false;
    return true;
  }

  // Reads `&name` and `!tag`; returns how many there were.
  int Marks(std::string& anchor) {
    int count = 0;
    while (Peek() == '&' || Peek() == '!') {
      const size_t begin = at_;
      while (!BlankAt(0)) {
        if (IsFlowMark(Peek())) return Fail(), 0;
        ++at_;
      }
      const std::string_view mark = text_.substr(begin, at_ - begin);
      if (mark.size() == 1 && mark == "&") return Fail(), 0;
      if (mark.starts_with('&')) {
        if (!anchor.empty()) return Fail(), 0;
        anchor = mark.substr(1);
      }
      if (++count > 2) return Fail(), 0;
      while (Peek() == ' ') ++at_;
      if (Peek() == '#') {
        --at_;
        break;
      }
      if (AtLineEnd()) break;
    }
    return count;
  }

  bool AtDash() const { return Peek() == '-' && BlankAt(1); }

  bool Content(const std::string& path, int parent, bool may_nest, bool bare) {
    const char c = Peek();
    if (AtDash()) return may_nest ? List(path) : Fail();
    if (c == '?' && BlankAt(1)) return Fail();
    std::string text;
    if (c == '|' || c == '>') return BlockScalar(text, parent) && Add(path, std::move(text));
    if (c == '*') return Alias(path) && EndOfLine();
    if (c == '{' || c == '[') return Flow(path) && EndOfLine();
    if (may_nest && KeyFollows()) return Mapping(path);
    // `&x key: value` names the key, not the mapping.
    if (!bare && KeyFollows()) return Fail();
    return Scalar(text, parent, /*flow=*/false) && EndOfLine() && Add(path, std::move(text));
  }

  bool EndOfLine() { return RestIsEmpty() || Fail(); }

  bool List(const std::string& path) {
    const int column = Column();
    const std::string item = path + "[]";
    while (true) {
      ++at_;
      if (RestIsEmpty()) {
        const bool has = Skip(false) && !failed_ && !AtMarker() && Column() > column;
        if (failed_ || (has ? !Node(item, column, kNoIndent) : !Add(item, ""))) return false;
      } else if (failed_ || !Node(item, column, kNoIndent)) {
        return Fail();
      }
      if (!Skip(false) || failed_ || AtMarker() || Column() < column) return !failed_;
      if (Column() > column) return Fail();
      if (!AtDash()) return true;
    }
  }

  bool Mapping(const std::string& path) {
    const int column = Column();
    std::set<std::string> keys;
    while (true) {
      constexpr std::string_view kNoKeys = "&!*{}[],|>%@`#?";
      if (kNoKeys.find(Peek()) != kNoKeys.npos || AtDash()) return Fail();
      std::string key;
      // Duplicate keys: parsers take the last one, or refuse the file.
      if (!Key(key) || !keys.insert(key).second) return Fail();
      if (!Value(path, key, column)) return false;
      if (!Skip(false) || failed_ || AtMarker() || Column() < column) return !failed_;
      if (Column() > column) return Fail();
    }
  }

  bool Value(const std::string& path, const std::string& key, int column) {
    const std::string below = Below(path, key);
    if (below.size() > kMaxKey) return Fail();
    const size_t first = out_.size();
    if (RestIsEmpty()) {
      const bool has = Skip(false) && !failed_ && !AtMarker() &&
                       (Column() > column || (Column() == column && AtDash()));
      if (failed_ || (has ? !Node(below, column, column) : !Add(below, ""))) return false;
    } else if (failed_ || !InlineNode(below, column)) {
      return false;
    }
    if (key == "<<") Merge(path, below, first);
    return true;
  }

  // The node after a colon on the same line: a mapping or list only in brackets.
  bool InlineNode(const std::string& path, int column) {
    if (++depth_ > kMaxDepth) return Fail();
    std::string anchor;
    const int marks = Marks(anchor);
    if (failed_) return false;
    bool fine = false;
    if (marks != 0 && RestIsEmpty()) {
      const bool has = Skip(false) && !failed_ && !AtMarker() &&
                       (Column() > column || (Column() == column && AtDash()));
      if (failed_ || (has && (Peek() == '&' || Peek() == '!'))) return Fail();
      fine = Named(anchor, path, [&] {
        return has ? Content(path, column, /*may_nest=*/true, /*bare=*/true) : Add(path, "");
      });
    } else {
      if (Peek() == '\t') return Fail();
      fine = Named(anchor, path,
                   [&] { return Content(path, column, /*may_nest=*/false, /*bare=*/true); });
    }
    --depth_;
    return fine;
  }

  // `<<: *base` copies the keys of another mapping.
  void Merge(const std::string& path, const std::string& below, size_t first) {
    for (size_t i = first; i < out_.size(); ++i) {
      std::string_view rest = std::string_view(out_[i].key).substr(below.size());
      if (rest.starts_with("[]")) rest.remove_prefix(2);
      if (path.empty() && rest.starts_with('.')) rest.remove_prefix(1);
      out_[i].key = path + std::string(rest);
    }
  }

  bool Alias(const std::string& path) {
    const size_t begin = ++at_;
    while (!BlankAt(0) && !IsFlowMark(Peek())) ++at_;
    const auto found = anchors_.find(std::string(text_.substr(begin, at_ - begin)));
    if (found == anchors_.end() || found->second.open) return Fail();
    const Anchor anchor = found->second;
    for (size_t i = anchor.first; i < anchor.end; ++i) {
      const KeyValue each = out_[i];
      if (!each.key.starts_with(anchor.path)) return Fail();  // moved by a merge
      copied_ += each.key.size() + each.value.size();
      if (copied_ > kMaxJudged) return Fail();  // aliases of aliases of aliases
      if (!Add(path + each.key.substr(anchor.path.size()), each.value)) return false;
    }
    return true;
  }

  // --- flow style

  bool Flow(const std::string& path) {
    if (++depth_ > kMaxDepth) return Fail();
    const bool list = Peek() == '[';
    const char closing = list ? ']' : '}';
    ++at_;
    bool any = false;
    std::set<std::string> keys;
    while (true) {
      if (!Skip(true) || failed_ || AtMarker()) return Fail();
      if (Peek() == closing) break;
      any = true;
      if (!FlowEntry(path, list, keys)) return false;
      if (!Skip(true) || failed_) return Fail();
      if (Peek() == closing) break;
      if (Peek() != ',') return Fail();
      ++at_;
    }
    ++at_;
    --depth_;
    return any || Add(path, "");
  }

  bool FlowEntry(const std::string& path, bool list, std::set<std::string>& keys) {
    const std::string item = list ? path + "[]" : path;
    if (Peek() == '?' && BlankAt(1)) return Fail();
    const bool opens = Peek() == '{' || Peek() == '[';
    if (list && (opens || Peek() == '*' || Peek() == '&' || Peek() == '!')) return FlowNode(item);
    if (opens) return Fail();
    const bool quoted = Peek() == '"' || Peek() == '\'';
    const size_t line = line_;
    std::string key;
    if (!Scalar(key, kNoIndent, /*flow=*/true)) return false;
    if (!Skip(true) || failed_) return Fail();
    if (!list && !keys.insert(key).second) return Fail();
    const bool pair = Peek() == ':' && (BlankAt(1) || quoted || IsFlowMark(Peek(1)));
    if (!pair) return Add(list ? item : Below(path, key), list ? std::move(key) : "");
    if (line != line_) return Fail();  // a key must end on its line
    ++at_;
    if (!Skip(true) || failed_) return Fail();
    const std::string below = Below(item, key);
    if (below.size() > kMaxKey) return Fail();
    const size_t first = out_.size();
    if (Peek() == ',' || Peek() == '}' || Peek() == ']') return Add(below, "");
    if (!FlowNode(below)) return false;
    if (key == "<<") Merge(item, below, first);
    return true;
  }

  bool FlowNode(const std::string& path) {
    std::string anchor;
    Marks(anchor);
    if (failed_ || !Skip(true) || failed_) return Fail();
    return Named(anchor, path, [&] {
      if (Peek() == '{' || Peek() == '[') return Flow(path);
      if (Peek() == '*') return Alias(path);
      if (Peek() == ',' || Peek() == ']' || Peek() == '}') return Add(path, "");
      std::string text;
      if (!Scalar(text, kNoIndent, /*flow=*/true)) return false;
      // `[a: b]` with marks before it: it is unclear which of the two they name.
      if (!Skip(true) || failed_ || Peek() == ':') return Fail();
      return Add(path, std::move(text));
    });
  }

  size_t depth_ = 0;
  size_t copied_ = 0;
  std::map<std::string, Anchor> anchors_;
  KeyValues out_;
};

}  // namespace

std::optional<KeyValues> ReadYaml(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return Reader(text).Read();
}

}  // namespace cloche::rules
