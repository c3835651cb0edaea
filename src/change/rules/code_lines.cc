#include "change/rules/code_lines.h"

#include <algorithm>

#include "change/rules/glob.h"
#include "change/rules/line_sets.h"

namespace cloche::rules {
namespace {

bool EndsWithAny(std::string_view name, std::string_view endings) {
  return AnyWord(endings, [&](auto ending) { return name.ends_with(ending); });
}

// Whether a line of shell or Ruby certainly leaves no string, here-document or substitution open.
bool HashLineIsWhole(std::string_view line) {
  const bool substitutes =
      line.find("$(") != line.npos || line.find("${") != line.npos || line.find('`') != line.npos;
  if (substitutes && line.find('\'') != line.npos && line.find('"') != line.npos) return false;
  if (line.find("<<") != line.npos) return false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\') {
      ++i;
    } else if (c == '#' && (i == 0 || std::string_view(" \t;&|()").find(line[i - 1]) !=
                                          std::string_view::npos)) {
      return true;
    } else if (c == '\'' || c == '"' || c == '`') {
      const bool escapes = c != '\'' || (i > 0 && line[i - 1] == '$');
      for (++i; i < line.size() && line[i] != c; ++i)
        if (escapes && line[i] == '\\') ++i;
      if (i >= line.size()) return false;
    }
  }
  return true;
}

bool SlashLineIsWhole(std::string_view line, bool groovy) {
  for (const std::string_view opens : {"`", "'''", "\"\"\"", "$/", "'\"'"})
    if (line.find(opens) != line.npos) return false;
  if (std::ranges::count(line, '"') % 2 != 0) return false;
  if (!groovy) return true;
  std::string without;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("://")) i += 3;
    if (line.substr(i).starts_with("//")) break;
    if (i < line.size()) without.push_back(line[i]);
  }
  return std::ranges::count(without, '/') % 2 == 0;
}

bool IsSpacedHashComment(std::string_view trimmed) {
  return trimmed.starts_with('#') &&
         (trimmed.size() == 1 || trimmed[1] == ' ' || trimmed[1] == '\t' || trimmed[1] == '#');
}

bool IsComment(std::string_view trimmed, Comments comments) {
  // Templates are expanded before comments are recognized.
  if (trimmed.find("<%") != trimmed.npos || trimmed.find("?>") != trimmed.npos) return false;
  if (comments == Comments::kHash) return IsHashComment(trimmed);
  if (comments == Comments::kSpacedHash) return IsSpacedHashComment(trimmed);
  // Within a block comment, "*/" ends it, and code may follow.
  return trimmed.starts_with("//") && trimmed.find("*/") == trimmed.npos;
}

std::vector<CodeLine> LinesByMarks(std::string_view text, Comments comments) {
  std::vector<CodeLine> out;
  const bool hash = comments == Comments::kHash || comments == Comments::kSpacedHash;
  bool sure = true;
  bool continues = false;
  ForEachLine(text, [&](std::string_view raw) {
    // To a shell, a carriage return is an ordinary character.
    if (hash && raw.data() + raw.size() < text.data() + text.size() &&
        raw.data()[raw.size()] == '\r')
      raw = {raw.data(), raw.size() + 1};
    const bool joins = raw.ends_with('\\');
    if (continues) {
      out.back().text.append("\n").append(raw);
      sure = sure && HashLineIsWhole(raw.substr(0, raw.size() - (joins ? 1 : 0)));
      continues = joins;
      return;
    }
    const std::string_view trimmed = TrimLine(raw);
    if (sure && (trimmed.empty() || IsComment(trimmed, comments))) return;
    // A blank after the last backslash changes what the backslash does.
    out.push_back({std::string(sure && !trimmed.ends_with('\\') ? trimmed : raw)});
    if (raw.ends_with('\r') && !out.back().text.ends_with('\r')) out.back().text.push_back('\r');
    continues = joins;
    if (hash)
      sure = sure && HashLineIsWhole(raw.substr(0, raw.size() - (joins ? 1 : 0)));
    else
      sure = sure && !joins && SlashLineIsWhole(raw, comments == Comments::kGroovy);
  });
  return out;
}

std::vector<CodeLine> AllLines(std::string_view text) {
  std::vector<CodeLine> out;
  ForEachLine(text, [&](std::string_view raw) {
    if (const std::string_view trimmed = TrimLine(raw); !trimmed.empty())
      out.push_back({std::string(trimmed)});
  });
  return out;
}

// Finds Python strings, and thereby comments.
class PythonLines {
 public:
  explicit PythonLines(std::string_view text) : text_(text) {}

  std::vector<CodeLine> Read() {
    ForEachLine(text_, [&](std::string_view line) { Take(line); });
    return std::move(out_);
  }

 private:
  void Take(std::string_view line) {
    const bool fresh = quote_.empty() && !continues_;
    const std::string_view trimmed = TrimLine(line);
    // A comment block from `# /// script` to `# ///` lists packages to install before it runs.
    const bool was_metadata = metadata_;
    if (trimmed.starts_with("# ///")) metadata_ = !metadata_;
    const bool comment = trimmed.starts_with('#') && !metadata_ && !was_metadata;
    if (sure_ && fresh && (trimmed.empty() || comment)) return;
    CodeLine code;
    code.odd = metadata_ || was_metadata;
    continues_ = false;
    const bool begins_in_string = !quote_.empty();
    bool field = false;  // inside an f-string field
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (!quote_.empty()) {
        if (formatted_ && c == '{') field = !line.substr(i).starts_with("{{");
        if (formatted_ && c == '}') field = false;
        const bool ends = line.substr(i).starts_with(quote_);
        // The meaning depends on the version of Python.
        if (field && (ends || c == '#' || c == '\\')) sure_ = false;
        if (c == '\\') {
          ++i;
          if (i == line.size() && quote_.size() == 1) continues_ = true;
        } else if (ends) {
          i += quote_.size() - 1;
          quote_ = {};
        }
        continue;
      }
      if (c == '#') break;
      if (c == '\\') continues_ = i + 1 == line.size();
      if (static_cast<unsigned char>(c) >= 0x80) code.odd = true;
      if (c != '"' && c != '\'') continue;
      const std::string_view rest = line.substr(i);
      quote_ = rest.substr(0, rest.size() >= 3 && rest[1] == c && rest[2] == c ? 3 : 1);
      size_t prefix = i;
      while (prefix > 0 && i - prefix < 3 && IsLetter(line[prefix - 1])) --prefix;
      formatted_ =
          Lowered(line.substr(prefix, i - prefix)).find_first_of("ft") != std::string_view::npos;
      field = false;
      i += quote_.size() - 1;
    }
    if (field) sure_ = false;
    // Python does not allow it, so whatever accepts it is not Python.
    if (quote_.size() == 1 && !continues_) {
      quote_ = {};
      sure_ = false;
    }
    std::string_view kept = line;
    if (quote_.empty() && !continues_ && !begins_in_string) {
      const size_t end = line.find_last_not_of(" \t\f");
      kept = line.substr(0, end == line.npos ? 0 : end + 1);
    }
    code.text = kept;
    out_.push_back(std::move(code));
  }

  static bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  std::string_view text_;
  std::string_view quote_;  // of the open string
  bool formatted_ = false;
  bool continues_ = false;
  bool sure_ = true;
  bool metadata_ = false;
  std::vector<CodeLine> out_;
};

}  // namespace

Comments CommentsOf(std::string_view name) {
  const std::string lower = Lowered(name);
  if (EndsWithAny(lower, ".py .bzl .gyp .bazel") ||
      AnyWord("sconstruct sconscript wscript snakefile tiltfile build workspace targets buck "
              "meson.build",
              [&](auto each) { return each == lower; }))
    return Comments::kPython;
  if (EndsWithAny(lower, ".gradle .kts .groovy jenkinsfile") || lower.starts_with("jenkinsfile."))
    return Comments::kGroovy;
  if (EndsWithAny(lower, ".rs .js .cjs .mjs .jsx .ts .mts .cts .tsx .go .java .zig"))
    return Comments::kSlashes;
  if (EndsWithAny(
          lower,
          ".json .jsonc .xml .el .lua .vim .jl .nix .ps1 .bat .cmd .exs .sbt .config .m4 "
          ".pl .html .css .c .h .cc .vimrc .exrc .nvimrc .lvimrc .emacs .rprofile build.xml "
          "configure.ac .iml .sublime-project .sublime-build .kt"))
    return Comments::kNone;
  return Comments::kHash;
}

bool IsHashLanguage(std::string_view name) {
  const std::string lower = Lowered(name);
  return EndsWithAny(
      lower,
      ".sh .bash .zsh .ksh .fish .rb .rake .gemspec rakefile gemfile vagrantfile podfile fastfile "
      "dangerfile brewfile guardfile capfile berksfile .yml .yaml .toml .cfg .conf .ini "
      ".properties .tf .hcl .rspec .rspec-local .irbrc .pryrc .gdbinit .gdbearlyinit .pdbrc "
      ".lldbinit .ninja .proverc .yardopts .replit .htaccess procfile latexmkrc .perldb .r .nims "
      ".jam jamfile jamroot .tcl .ctags matplotlibrc .valgrindrc .gitlint .ccls .mspec "
      "compile_flags.txt bashrc zshrc .profile .octaverc .gdb .rsp");
}

bool IsHashComment(std::string_view trimmed) {
  if (!trimmed.starts_with('#')) return false;
  if (trimmed.size() == 1) return true;
  constexpr std::string_view kMeaningful = "!{$@[>=('.:|<\"\\";
  return kMeaningful.find(trimmed[1]) == kMeaningful.npos;
}

std::vector<CodeLine> CodeLines(std::string_view text, Comments comments) {
  if (comments == Comments::kNone) return AllLines(text);
  if (comments == Comments::kPython) return PythonLines(text).Read();
  return LinesByMarks(text, comments);
}

}  // namespace cloche::rules
