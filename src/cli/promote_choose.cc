#include "cli/promote_choose.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/text.h"
#include "change/model/change.h"
#include "change/model/lines.h"
#include "change/model/select.h"
#include "cli/ask.h"
#include "sys/fd.h"

namespace cloche::cli {
namespace {

constexpr uint32_t kContext = 3;

void Say(const std::string& line) { WriteAll(STDERR_FILENO, line); }

void ShowLine(char sign, std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const bool colour = ColourWanted(STDERR_FILENO);
  const std::string text = sign + EscapeForTerminal(line);
  Say((sign == ' ' ? text : Coloured(colour, sign == '+' ? "32" : "31", text)) + "\n");
}

void ShowBlock(const change::LineDiff& lines, const change::Block& block) {
  const uint32_t first = block.old_first < kContext ? 0 : block.old_first - kContext;
  const uint32_t end = block.old_first + block.old_count;
  Say(fmt::format("line {}:\n", block.old_first + 1));
  for (uint32_t i = first; i < block.old_first; ++i) ShowLine(' ', lines.old_lines[i]);
  for (uint32_t i = block.old_first; i < end; ++i) ShowLine('-', lines.old_lines[i]);
  for (uint32_t i = 0; i < block.new_count; ++i)
    ShowLine('+', lines.new_lines[block.new_first + i]);
  for (uint32_t i = end; i < std::min<size_t>(end + kContext, lines.old_lines.size()); ++i)
    ShowLine(' ', lines.old_lines[i]);
}

enum class Choice { kAll, kNone, kSome, kQuit };

Choice ChooseHunks(const std::string& old_text, const std::string& new_text, std::string& chosen) {
  const auto lines = change::DiffLines(old_text, new_text);
  if (!lines) return Choice::kNone;
  std::vector<bool> taken;
  size_t count = 0;
  for (const change::Block& block : lines->blocks) {
    ShowBlock(*lines, block);
    const char answer =
        AskLetter(fmt::format("Take this hunk ({} of {})?", taken.size() + 1, lines->blocks.size()),
                  "y,n,q", "y: take it; n: leave it as it is; q: end, nothing is applied\n");
    if (answer == 'q') return Choice::kQuit;
    taken.push_back(answer == 'y');
    count += answer == 'y';
  }
  if (count == taken.size()) return Choice::kAll;
  if (count == 0) return Choice::kNone;
  chosen = change::ApplyChosen(*lines, taken).value_or(old_text);
  return Choice::kSome;
}

bool IsBelow(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

// A directory goes with what is in it.
void ChooseDirectories(const std::vector<change::Change>& directories,
                       const std::set<std::string>& taken, const std::set<std::string>& left,
                       Json& body) {
  for (const change::Change& each : directories) {
    const auto below = [&](const std::set<std::string>& paths) {
      const auto first = paths.lower_bound(each.path + "/");
      return first != paths.end() && IsBelow(*first, each.path);
    };
    const bool unwanted =
        each.kind == change::ChangeKind::kDeleted ? below(left) : below(left) && !below(taken);
    if (unwanted && each.kind != change::ChangeKind::kModified) body["leave"].push_back(each.path);
  }
}

bool WriteFile(const std::string& path, std::string_view text) {
  const sys::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return false;
  WriteAll(file.get(), text);
  struct stat info;
  return fstat(file.get(), &info) == 0 && info.st_size == static_cast<off_t>(text.size());
}

std::optional<std::string> ReadFile(const std::string& path) {
  const sys::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return std::nullopt;
  std::string text;
  char buffer[16 << 10];
  ssize_t size = 0;
  while ((size = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(size));
  return text;
}

// On this terminal, as a command of the shell: the person wrote it.
bool RunTool(const std::string& tool, const std::string& directory) {
  const std::string script = tool + " \"$@\"";
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(directory.c_str()) < 0) _exit(127);
    execl("/bin/sh", "sh", "-c", script.c_str(), "sh", "base", "reality", "sandbox", "merged",
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool HasMarkers(const std::string& text) {
  return text.starts_with("<<<<<<< ") || text.find("\n<<<<<<< ") != std::string::npos;
}

}  // namespace

bool ChooseChanges(const PromoteAnswer& plan, Json& body) {
  std::vector<change::Change> directories;
  std::set<std::string> taken, left;
  const Json& texts = Field(plan.json, "texts");
  char rest = 0;  // the answer for all that follow
  for (const std::string& each : plan.changes) {
    const auto change = change::DecodeJsonLine(each);
    if (!change) return false;
    const change::Side& side = change->new_side ? *change->new_side : *change->old_side;
    if (side.type == change::FileType::kDirectory) {
      directories.push_back(*change);
      continue;
    }
    const Json& pair = Field(texts, change->path.c_str());
    const bool hunks = pair.is_object();
    char answer = rest;
    if (answer == 0)
      answer =
          AskLetter(fmt::format("{} {}: take it?", change::KindName(change->kind),
                                EscapeForTerminal(change->path)),
                    hunks ? "y,n,h,a,d,q" : "y,n,a,d,q",
                    "y: take it; n: leave it out; h: choose hunks; a: it and all that follow; d: "
                    "neither it nor any that follows; q: end, nothing is applied\n");
    if (answer == 'q') return false;
    if (answer == 'a' || answer == 'd') rest = answer;
    Choice choice = answer == 'y' || answer == 'a' ? Choice::kAll : Choice::kNone;
    std::string chosen;
    if (answer == 'h') choice = ChooseHunks(Text(pair, "ours"), Text(pair, "theirs"), chosen);
    if (choice == Choice::kQuit) return false;
    if (choice == Choice::kSome) body["texts"][change->path] = chosen;
    if (choice == Choice::kNone) body["exclude"].push_back(change->path);
    (choice == Choice::kNone ? left : taken).insert(change->path);
  }
  ChooseDirectories(directories, taken, left, body);
  return !taken.empty() || (left.empty() && !directories.empty());
}

void SkipTriggers(const PromoteAnswer& plan, Json& body) {
  std::set<std::string> taken, left;
  std::vector<change::Change> directories;
  for (const Json& each : Field(plan.json, "triggers"))
    if (Text(each, "severity") == "alarm") left.insert(Text(each, "path"));
  for (const std::string& path : left) body["exclude"].push_back(path);
  const auto skipped = [&](const std::string& path) {
    return std::ranges::any_of(
        left, [&](const std::string& each) { return path == each || IsBelow(path, each); });
  };
  for (const std::string& each : plan.changes) {
    const auto change = change::DecodeJsonLine(each);
    if (!change || skipped(change->path)) continue;
    const change::Side& side = change->new_side ? *change->new_side : *change->old_side;
    if (side.type == change::FileType::kDirectory)
      directories.push_back(*change);
    else
      taken.insert(change->path);
  }
  ChooseDirectories(directories, taken, left, body);
}

Result<size_t> MergeByTool(const std::string& tool, const Json& plan, Json& body) {
  size_t resolved = 0;
  for (const Json& each : Field(plan, "conflicts")) {
    const std::string path = Text(each, "path");
    const Json& texts = Field(Field(plan, "texts"), path.c_str());
    if (!texts.is_object()) continue;
    char directory[] = "/tmp/cloche-merge.XXXXXX";
    if (!mkdtemp(directory))
      return Fail(Code::kUnavailable, fmt::format("make {}: {}", directory, strerror(errno)));
    const std::string place = directory;
    const std::string merged = Text(texts, "merged");
    const std::string first = merged.empty() ? Text(texts, "ours") : merged;
    Say("merging " + EscapeForTerminal(path) + "\n");
    const bool written = WriteFile(place + "/base", Text(texts, "base")) &&
                         WriteFile(place + "/reality", Text(texts, "ours")) &&
                         WriteFile(place + "/sandbox", Text(texts, "theirs")) &&
                         WriteFile(place + "/merged", first);
    const bool good = written && RunTool(tool, place);
    const std::optional<std::string> result = ReadFile(place + "/merged");
    for (const char* name : {"/base", "/reality", "/sandbox", "/merged"})
      (void)unlink((place + name).c_str());
    (void)rmdir(directory);
    if (!good || !result)
      return Fail(
          Code::kConflict,
          fmt::format("merge {}: the tool failed, nothing was applied", EscapeForTerminal(path)),
          "it is called with four files: BASE REALITY SANDBOX MERGED");
    if (HasMarkers(*result))
      return Fail(Code::kConflict,
                  fmt::format("merge {}: markers of conflicts are left, nothing was applied",
                              EscapeForTerminal(path)),
                  "resolve all of them, then leave the tool");
    body["texts"][path] = *result;
    ++resolved;
  }
  return resolved;
}

}  // namespace cloche::cli
