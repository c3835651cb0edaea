#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"

// Header only: the programs that read such files are static, and one file of each includes it.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// It asserts what it then reports as an error: `[=` must not end a build with assertions.
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

namespace cloche {

// Shared by the readers of all TOML files. Every complaint names its line.
class TomlReader {
 public:
  explicit TomlReader(const std::string& file) : file_(file) {}

 protected:
  // `shown`: where a whole file is shown.
  Result<toml::table> Parse(std::string_view text, const char* shown) const {
    toml::parse_result parsed = toml::parse(text);
    if (!parsed)
      return Complain(parsed.error().source().begin.line, std::string(parsed.error().description()),
                      fmt::format("correct the line; {} shows a whole file", shown));
    return std::move(parsed.table());
  }

  std::unexpected<Error> Complain(size_t line, const std::string& what,
                                  const std::string& cure) const {
    return Fail(Code::kInvalid, fmt::format("read {}:{}: {}", file_, line, EscapeForTerminal(what)),
                cure);
  }
  std::unexpected<Error> Complain(const toml::node& at, const std::string& what,
                                  const std::string& cure) const {
    return Complain(at.source().begin.line, what, cure);
  }

  template <size_t N>
  Status CheckKeys(const toml::table& table, const std::array<const char*, N>& known,
                   const std::string& where) const {
    for (const auto& [key, node] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      std::string listed;
      for (const char* word : known) listed += (listed.empty() ? "" : ", ") + std::string(word);
      return Complain(key.source().begin.line, fmt::format("{} has no key '{}'", where, key.str()),
                      "known here: " + listed);
    }
    return {};
  }

  Result<std::string> Words(const toml::node& node, std::string_view key) const {
    const auto* text = node.as_string();
    if (text == nullptr)
      return Complain(node, fmt::format("{} is not a string", key), "put it in quotes");
    if (text->get().find_first_not_of(" \t\r\n") == std::string::npos)
      return Complain(node, fmt::format("{} is empty", key), "write something, or leave it out");
    if (text->get().find('\0') != std::string::npos)
      return Complain(node, fmt::format("{} holds a NUL", key), "nothing of Linux can have one");
    return text->get();
  }

  // One string, or a list of them.
  Status List(const toml::table& table, const char* key, size_t most,
              std::vector<std::string>& out) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      ASSIGN_OR_RETURN(std::string text, Words(*node, key));
      out.push_back(std::move(text));
      return {};
    }
    if (list->size() > most)
      return Complain(*node, fmt::format("{} has more than {} items", key, most), "give fewer");
    for (const toml::node& item : *list) {
      ASSIGN_OR_RETURN(std::string text, Words(item, key));
      out.push_back(std::move(text));
    }
    return {};
  }

  Status Bool(const toml::table& table, const char* key, bool& out) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const auto* value = node->as_boolean();
    if (value == nullptr)
      return Complain(*node, fmt::format("{} is neither true nor false", key), "write true");
    out = value->get();
    return {};
  }

  const std::string& file() const { return file_; }

 private:
  std::string file_;
};

}  // namespace cloche
