#include <fmt/core.h>
#include <unistd.h>

#include <ctime>
#include <functional>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {
namespace {

constexpr size_t kMostIndent = 60;  // bytes; beyond it a branch is not told from its stem

std::string DescribeOrigin(const Json& snapshot) {
  const std::string kind = Text(snapshot, "kind");
  if (kind == "command") return fmt::format("before command {:.0f}", Number(snapshot, "command"));
  if (kind == "time") return "by time";
  return kind == "rollback" ? "abandoned" : "saved";
}

// A branch per snapshot, below the one it grew on.
std::string Tree(const Json& snapshots, bool colour) {
  Table table({"SNAPSHOT", "NAME", "AGE", "WHY", "NOTE"});
  const time_t now = time(nullptr);
  const std::function<void(const std::string&, const std::string&)> add =
      [&](const std::string& parent, const std::string& indent) {
        std::vector<const Json*> children;
        for (const Json& each : snapshots)
          if (Text(each, "parent") == parent) children.push_back(&each);
        for (size_t i = 0; i < children.size(); ++i) {
          const Json& each = *children[i];
          // A line of descent stays a column; only where it parts does it move to the right.
          const bool alone = children.size() == 1;
          const bool last = i + 1 == children.size();
          const std::string branch = alone ? "" : last ? "└ " : "├ ";
          const std::string id = Text(each, "id");
          table.AddRow({indent + branch + id + (Flag(each, "head") ? " *" : ""),
                        Text(each, "name", "-").empty() ? "-" : Text(each, "name"),
                        DescribeAge(Text(each, "created"), now), DescribeOrigin(each),
                        Text(each, "note")});
          const bool wide = indent.size() > kMostIndent;
          add(id, indent + (alone || wide ? "" : last ? "  " : "│ "));
        }
      };
  add("", "");
  return table.Render(colour);
}

int RemoveSnapshots(const std::vector<std::string>& refs, bool json) {
  Json removed = Json::array();
  int status = 0;
  for (const std::string& ref : refs) {
    const auto target = SnapshotTarget(ref);
    const auto answer =
        target ? Call("DELETE", *target) : Result<Json>(std::unexpected(target.error()));
    if (!answer) {
      const int failure = json ? ExitStatus(answer.error().code) : PrintError(answer.error());
      if (status == 0) status = failure;
      if (json) removed.push_back({{"id", ref}, {"error", ErrorJson(answer.error())}});
      continue;
    }
    if (!json) WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(*answer, "id")) + "\n");
    removed.push_back(*answer);
  }
  if (json) PrintJson(removed);
  return status;
}

int TagSnapshot(const std::string& ref, const std::string& name, bool json) {
  const auto target = SnapshotTarget(ref);
  if (!target) return PrintError(target.error(), json);
  const auto answer = Call("PATCH", *target, Json{{"name", name}});
  if (!answer) return PrintError(answer.error(), json);
  if (json) PrintJson(*answer);
  return 0;
}

}  // namespace

int Snapshots(Arguments arguments) {
  std::vector<std::string> words;
  bool json = false;
  CLI::App app(
      "Lists the saved states of a sandbox as a tree (* = where it stands), removes or names them.",
      "cloche snapshots");
  app.add_option("WORDS", words, "a sandbox; rm SNAPSHOT...; or tag SNAPSHOT NAME")->required();
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX | rm SNAPSHOT... | tag SNAPSHOT NAME", arguments))
    return *status;

  if (words.size() > 1 && words[0] == "rm")
    return RemoveSnapshots(std::vector<std::string>(words.begin() + 1, words.end()), json);
  if (words.size() == 3 && words[0] == "tag") return TagSnapshot(words[1], words[2], json);
  if (words.size() != 1)
    return PrintError(
        {Code::kInvalid, "snapshots: one sandbox, rm or tag", "cloche snapshots --help"}, json);
  const auto target = SandboxTarget(words[0], "/snapshots");
  if (!target) return PrintError(target.error(), json);
  const auto list = Call("GET", *target);
  if (!list) return PrintError(list.error(), json);
  if (json)
    PrintJson(*list);
  else if (!list->empty())
    WriteAll(STDOUT_FILENO, Tree(*list, ColourWanted(STDOUT_FILENO)));
  return 0;
}

}  // namespace cloche::cli
