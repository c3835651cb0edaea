#include "change/apply/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <ranges>
#include <set>

#include "change/project/project_file.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace cloche::apply {
namespace {

Result<std::vector<rules::Glob>> ParseAll(const std::vector<std::string>& patterns) {
  std::vector<rules::Glob> globs;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(rules::Glob glob, rules::Glob::Parse(pattern));
    globs.push_back(std::move(glob));
  }
  return globs;
}

bool IsDirectory(const change::Change& change) {
  const auto& side = change.new_side ? change.new_side : change.old_side;
  return side && side->type == change::FileType::kDirectory;
}

std::string Reason(const rules::PathAnswer& answer) {
  switch (answer.rule) {
    case rules::PathRule::kDenied:
      return fmt::format("promote.deny of cloche.toml forbids it: '{}'", answer.pattern);
    case rules::PathRule::kReadOnly:
      return fmt::format("promote.read_only of cloche.toml forbids it: '{}'", answer.pattern);
    default:
      return "promote.allow of cloche.toml does not name it";
  }
}

}  // namespace

Result<ProjectRules> ProjectRules::Read(const std::string& toml, const std::string& project) {
  ProjectRules rules;
  rules.project_ = project;
  auto file = project::ReadProjectFile(toml);
  if (!file) {
    Error error = file.error();
    error.cure += "; then cloche pipeline SANDBOX repin";
    return std::unexpected(std::move(error));
  }
  ASSIGN_OR_RETURN(rules.rules_.allow, ParseAll(file->promote.allow));
  ASSIGN_OR_RETURN(rules.rules_.deny, ParseAll(file->promote.deny));
  ASSIGN_OR_RETURN(rules.rules_.read_only, ParseAll(file->promote.read_only));
  return rules;
}

Status ProjectRules::Check(const std::vector<std::string>& changes, const std::string& root,
                           std::vector<Conflict>& conflicts) const {
  if (project_.empty()) return {};
  const std::string& top = root.empty() ? project_ : root;
  const std::string below = top == "/" ? "/" : top + "/";
  std::vector<Conflict> found;
  std::set<std::string> on_the_way;  // directories above something allowed
  // In reverse, so that a directory comes after its entries.
  for (const std::string& line : changes | std::views::reverse) {
    ASSIGN_OR_RETURN(const change::Change change, change::DecodeJsonLine(line));
    if (!change.path.starts_with(below)) continue;
    const std::string path = change.path.substr(below.size());
    if (path == project::kFileName) {
      found.push_back({change.path, "what it says binds promotions: it is only yours to change",
                       "change it outside, or leave it out: --exclude " + change.path});
      continue;
    }
    const rules::PathAnswer answer = rules::CheckPath(rules_, path, IsDirectory(change));
    const bool added = !change.old_side && IsDirectory(change);
    const bool passage =
        answer.rule == rules::PathRule::kNotAllowed && added && on_the_way.contains(path);
    if (answer.rule == rules::PathRule::kFree || passage) {
      if (change.new_side)
        for (size_t at = path.rfind('/'); at != std::string::npos && at > 0;
             at = path.rfind('/', at - 1))
          if (!on_the_way.insert(path.substr(0, at)).second) break;
      continue;
    }
    found.push_back({change.path, Reason(answer),
                     "leave it out: --exclude " + change.path +
                         "; or change the real cloche.toml, then cloche pipeline SANDBOX repin"});
  }
  conflicts.insert(conflicts.end(), found.rbegin(), found.rend());
  return {};
}

std::string ProjectFileNote(const std::string& project, const std::string& pinned,
                            const std::string& sandbox) {
  if (project.empty()) return "";
  const std::string path = project + "/" + project::kFileName;
  const sys::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string now;
  const bool there = file.valid() || errno != ENOENT;
  const bool read = file.valid() && sys::ReadAll(file.get(), now, 1 << 20) >= 0;
  if (read ? now == pinned : !there && pinned.empty()) return "";
  const char* what = pinned.empty() ? "is there now, and was not"
                     : !there       ? "is gone"
                                    : "has changed";
  return fmt::format(
      "cloche.toml {} since the sandbox was made: what it said then holds; to take what it says "
      "now: "
      "cloche pipeline {} repin",
      what, sandbox);
}

}  // namespace cloche::apply
