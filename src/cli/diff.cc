#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error_json.h"
#include "base/text.h"
#include "change/model/summary.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/line_splitter.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/surroundings.h"

namespace cloche::cli {
namespace {

struct DiffFlags {
  std::string ref, against, snapshot;
  std::vector<std::string> paths;
  bool stat = false, patch = false, names = false, json = false, all = false, zero = false;
};

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

std::string Target(const std::string& sandbox, const DiffFlags& flags, const Surroundings& around) {
  std::vector<std::pair<std::string, std::string>> query = {
      {"snapshot", flags.snapshot},
      {"against", flags.against},
      {"format", flags.patch ? "patch" : "json"},
      {"lines", flags.names ? "" : "1"}};
  for (const std::string& path : flags.paths)
    query.emplace_back("path", path.starts_with('/') ? path : around.cwd + "/" + path);
  return sandbox + QueryString(query);
}

int PrintPatch(const std::string& target) {
  Pager pager;
  const bool colour = ColourWanted(STDOUT_FILENO);
  LineSplitter lines([&](std::string_view line) {
    const char* sgr = line.starts_with("diff ")                            ? "1"
                      : line.starts_with("@@")                             ? "36"
                      : line.starts_with("+++") || line.starts_with("---") ? "1"
                      : line.starts_with("+")                              ? "32"
                      : line.starts_with("-")                              ? "31"
                                                                           : "";
    const std::string text = EscapeForTerminal(line);
    pager.Write((*sgr != '\0' ? Coloured(colour, sgr, text) : text) + "\n");
  });
  // To a file or a program it goes as it is, to a person escaped.
  const Status status = CallForPieces(target, [&](std::string_view piece) {
    if (pager.terminal())
      lines.Add(piece);
    else
      pager.Write(piece);
  });
  lines.End();
  return status ? 0 : PrintError(status.error());
}

// The output of cloche-diff, line by line: changes, and at the end a summary or an error.
struct Answer {
  Json summary;
  std::optional<Error> error;
};

Result<Json> ReadChanges(const std::string& target,
                         const std::function<void(std::string_view)>& take) {
  Answer answer;
  std::optional<std::string> held;  // before an error it may be half a line
  LineSplitter lines([&](std::string_view line) {
    if (line.starts_with("{\"summary\"") || line.starts_with("{\"error\"")) {
      const Json last = Json::parse(line, nullptr, false);
      if (const Json& error = Field(last, "error"); error.is_object())
        answer.error = ErrorFromJson(error);
      answer.summary = Field(last, "summary");
    } else {
      if (held) take(*held);
      held = line;
    }
  });
  const Status status = CallForPieces(target, [&](std::string_view piece) { lines.Add(piece); });
  if (answer.error) return std::unexpected(*answer.error);
  if (!status) return std::unexpected(status.error());
  if (held) take(*held);
  return answer.summary;
}

int PrintDiffJson(const std::string& target) {
  std::string separator;
  WriteJson("{\"changes\":[");
  const auto summary = ReadChanges(target, [&](std::string_view line) {
    WriteJson(separator + std::string(line));
    separator = ",";
  });
  Json rest = Json::object();
  if (summary) {
    rest["id"] = Field(*summary, "sandbox");
    rest["digest"] = Field(*summary, "digest");
    rest["summary"] = *summary;
  } else {
    rest["error"] = ErrorJson(summary.error());
  }
  WriteJson("]," + JsonText(rest).substr(1) + "\n");
  return summary ? 0 : ExitStatus(summary.error().code);
}

// Unreadable directories may hold changes, so their number is reported.
void TellUnreadable(const Json& summary) {
  if (const double count = Number(summary, "unreadable"); count > 0)
    WriteAll(STDERR_FILENO,
             fmt::format("cloche: {:.0f} {} could not be read: this is incomplete, and has no "
                         "digest\n",
                         count, count == 1 ? "directory" : "directories"));
}

int PrintNames(const std::string& target, bool all, bool zero) {
  Pager pager;
  const auto summary = ReadChanges(target, [&](std::string_view line) {
    const auto change = change::DecodeJsonLine(line);
    if (!change || (!all && !change->noise.empty())) return;
    pager.Write(zero ? change->path + '\0' : EscapeForTerminal(change->path) + "\n");
  });
  if (!summary) return PrintError(summary.error());
  TellUnreadable(*summary);
  return 0;
}

// "and 12 in packages, 3 in logs"
std::string DescribeRest(const Json& summary) {
  std::string text;
  for (const auto& [group, counts] : summary.items()) {
    if (group == "total" || group == "real" || !counts.is_object()) continue;
    double changes = 0;
    for (const char* key : {"added", "modified", "deleted", "renamed"})
      changes += Number(counts, key);
    text += fmt::format("{}{:.0f} {}", text.empty() ? "" : ", ", changes, EscapeForTerminal(group));
  }
  return text;
}

int PrintStat(const std::string& target, const DiffFlags& flags, const Surroundings& around) {
  Pager pager;
  change::StatOptions options;
  options.root = around.project.empty() ? around.cwd : around.project;
  options.width = TerminalWidth();
  options.colour = ColourWanted(STDOUT_FILENO);
  change::StatTable table(options);
  const auto summary = ReadChanges(target, [&](std::string_view line) {
    const auto change = change::DecodeJsonLine(line);
    if (change && (flags.all || change->noise.empty())) table.Add(*change);
  });
  if (!summary) return PrintError(summary.error());
  pager.Write(table.Render());
  const std::string rest = flags.all ? "" : DescribeRest(*summary);
  if (!rest.empty()) pager.Write(fmt::format("not shown: {} (--all)\n", rest));
  TellUnreadable(*summary);
  return 0;
}

}  // namespace

int Diff(Arguments arguments) {
  DiffFlags flags;
  CLI::App app("Shows what a sandbox changed, in the project first.", "cloche diff");
  app.add_option("SANDBOX", flags.ref, "id, unique prefix of it, or name")->required();
  app.add_option("PATH", flags.paths, "only these, and what is below them");
  app.add_option("--against", flags.against,
                 "reality (default), a snapshot of it, or another sandbox")
      ->type_name("WHAT");
  app.add_option("--snapshot", flags.snapshot, "a snapshot of it instead of its present state")
      ->type_name("SNAPSHOT");
  app.add_flag("--stat", flags.stat, "a line per file (default)");
  app.add_flag("-p,--patch", flags.patch, "a patch that git apply and patch -p1 accept");
  app.add_flag("--name-only", flags.names, "paths only");
  app.add_flag("-z", flags.zero, "with --name-only: raw names, each ended by a NUL");
  app.add_flag("-a,--all", flags.all, "also caches, logs, packages and the rest of the system");
  AddJsonFlag(app, flags.json);
  if (auto status = Parse(app, "SANDBOX [PATH...]", arguments)) return *status;
  if (flags.stat + flags.patch + flags.names + flags.json > 1)
    return PrintError({Code::kInvalid, "diff: one of --stat, --patch, --name-only and --json",
                       "leave out all but one"},
                      flags.json);

  const auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), flags.json);
  const auto sandbox = SandboxTarget(flags.ref, "/changes");
  if (!sandbox) return PrintError(sandbox.error(), flags.json);
  const std::string target = Target(*sandbox, flags, *around);
  if (flags.patch) return PrintPatch(target);
  if (flags.json) return PrintDiffJson(target);
  if (flags.names) return PrintNames(target, flags.all, flags.zero);
  return PrintStat(target, flags, *around);
}

}  // namespace cloche::cli
