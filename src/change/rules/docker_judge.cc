#include <algorithm>
#include <optional>

#include "change/rules/glob.h"
#include "change/rules/judges.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

// `# syntax=image`, `# escape=...`, `# check=...`: look like comments, but the builder obeys them.
bool IsDirective(std::string_view comment) {
  comment = TrimLine(comment.substr(1));
  const size_t end =
      comment.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
  if (end == comment.npos || end == 0) return false;
  const std::string name = Lowered(comment.substr(0, end));
  return TrimLine(comment.substr(end)).starts_with('=') &&
         (name == "syntax" || name == "escape" || name == "check");
}

// Whether the next line belongs to this one. nullopt: versions of the builder disagree.
std::optional<bool> Continues(std::string_view line, char escape) {
  const size_t last = line.find_last_not_of(" \t");
  if (last == line.npos || line[last] != escape) return false;
  if (last > 0 && line[last - 1] == escape) return std::nullopt;
  return true;
}

struct Instruction {
  std::string text;
  bool sure = true;  // false: counts whatever its first word is
};

std::vector<Instruction> Instructions(std::string_view text) {
  std::vector<Instruction> out;
  bool more = false;
  bool sure = true;
  char escape = '\\';
  ForEachLine(text, [&](std::string_view line) {
    const std::string_view trimmed = TrimLine(line);
    if (trimmed.starts_with('#') && sure) {
      // Such lines are left out even within an instruction.
      if (!IsDirective(trimmed)) return;
      out.push_back({std::string(trimmed), false});
      if (Lowered(trimmed).find("escape") != std::string::npos && trimmed.ends_with('`'))
        escape = '`';
      return;
    }
    if (trimmed.empty()) return;
    const std::optional<bool> continues = Continues(line, escape);
    std::string_view kept = trimmed;
    if (continues.value_or(false)) kept = TrimLine(trimmed.substr(0, trimmed.size() - 1));
    if (more && sure)
      out.back().text.append(" ").append(kept);
    else
      out.push_back({std::string(kept), sure});
    more = continues.value_or(false);
    // After a here-document starts, or a line whose continuation is unclear, any line may be a
    // command.
    if (!continues || line.find("<<") != line.npos) {
      sure = false;
      out.back().sure = false;
    }
  });
  return out;
}

// `COPY --from=stage` is common; from an image it brings in foreign files.
bool CopiesFromImage(std::string_view instruction) {
  const size_t from = instruction.find("--from=");
  if (from == instruction.npos) return false;
  const std::string_view rest = instruction.substr(from);
  return rest.substr(0, rest.find(' ')).find_first_of("/:.@$") != rest.npos;
}

}  // namespace

Parts DockerParts(std::string_view text) {
  Parts parts;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (const Instruction& each : Instructions(text)) {
    const std::string_view trimmed = each.text;
    parts.data.push_back({std::string(trimmed)});
    const size_t end = trimmed.find_first_of(" \t");
    const std::string word = Lowered(trimmed.substr(0, end));
    const bool harmless =
        AnyWord("label maintainer expose workdir stopsignal arg env volume user copy",
                [&](auto known) { return known == word; }) &&
        !(word == "env" && ContainsWord(Lowered(trimmed), "ld_preload")) &&
        !(word == "copy" && CopiesFromImage(trimmed));
    if (each.sure && harmless) continue;
    if (each.sure && word == "from") {
      std::string_view rest = TrimLine(trimmed.substr(std::min(end, trimmed.size())));
      const size_t image = rest.find(' ');
      parts.commands.push_back(
          {"from " + WithoutVersion(rest.substr(0, image)), std::string(trimmed)});
    } else {
      parts.commands.push_back({std::string(trimmed)});
    }
  }
  return parts;
}

}  // namespace cloche::rules
