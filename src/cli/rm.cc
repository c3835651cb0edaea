#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/each.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/request.h"
#include "cli/sandbox_view.h"
#include "cli/unpromoted.h"

namespace cloche::cli {
namespace {

void TellLine(const std::string& line) { WriteAll(STDERR_FILENO, line + "\n"); }

// "fix (sb_x): 3 changes not promoted, in /home/me/app"; "" when there is no work in it.
std::string DescribeWork(const std::string& ref) {
  const auto target = SandboxTarget(ref);
  const auto sandbox =
      target ? Call("GET", *target) : Result<Json>(std::unexpected(target.error()));
  if (!sandbox) return "";  // what removes it says why
  const std::string id = Text(*sandbox, "id"), name = Text(*sandbox, "name");
  const auto count = CountUnpromoted(id);
  if (count && *count == 0) return "";
  return fmt::format(
      "  {}: {}, in {}", EscapeForTerminal(name.empty() ? id : name + " (" + id + ")"),
      count ? DescribeUnpromoted(*count) + " not promoted"
            : EscapeForTerminal("cannot tell what changed: " + count.error().message),
      EscapeForTerminal(PlaceOf(*sandbox)));
}

using SeenWork = std::map<std::string, std::string>;  // what DescribeWork said

// Drops from `refs` the sandboxes that the person wants to keep. False: remove none at all.
bool ConfirmLoss(std::vector<std::string>& refs, SeenWork& seen) {
  std::vector<std::string> idle;
  std::string work;
  for (const std::string& ref : refs) {
    const std::string line = seen[ref] = DescribeWork(ref);
    if (line.empty())
      idle.push_back(ref);
    else
      work += (work.empty() ? "" : "\n") + line;
  }
  if (work.empty()) return true;
  TellLine(work);
  if (idle.empty())
    return Confirmed(refs.size() == 1 ? "Remove it all the same?" : "Remove them all the same?");
  const char answer =
      AskLetter("Remove these, too, only the others, or nothing?", "y,o,n",
                "y: remove all; o: only those without such changes; n: remove nothing\n");
  if (answer == 'o') refs = idle;
  return answer != 'n';
}

Status Meanwhile(const char* command, const std::string& ref) {
  return Fail(Code::kConflict,
              fmt::format("{} {}: it changed meanwhile and was not removed", command, ref),
              fmt::format("look again: cloche diff {}", ref));
}

struct Idle {
  bool stopped = false;
  bool without_work = false;  // unknown counts as work
};

Idle FindIdle(const Json& sandbox) {
  if (Text(sandbox, "state") == "running") return {};
  const auto count = CountUnpromoted(Text(sandbox, "id"));
  return {true, count && *count == 0};
}

Status CheckStillIdle(const std::string& id) {
  ASSIGN_OR_RETURN(const std::string target, SandboxTarget(id));
  ASSIGN_OR_RETURN(const Json sandbox, Call("GET", target));
  return FindIdle(sandbox).without_work ? Status() : Meanwhile("prune", id);
}

}  // namespace

int Rm(Arguments arguments) {
  bool all = false, json = false, force = false;
  std::vector<std::string> refs;
  CLI::App app(
      "Ends and removes sandboxes with all they changed. On a terminal it asks before it removes "
      "changes that were not promoted.",
      "cloche rm");
  app.add_option("SANDBOX", refs, "ids, unique prefixes of them, or names");
  app.add_flag("--all", all, "all of yours, the ended ones too");
  app.add_flag("-f,--force", force, "do not ask");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX...", arguments)) return *status;
  EachSandbox request = {"DELETE", "", "?all=1"};
  if (!force && CanAsk(json)) {
    if (all) {
      auto listed = AllSandboxes("?all=1");
      if (!listed) return PrintError(listed.error());
      refs = *std::move(listed);
      if (refs.empty()) return 0;
    }
    all = false;
    SeenWork seen;
    if (!ConfirmLoss(refs, seen))
      return PrintError({Code::kConflict, "rm: not confirmed, nothing was removed", ""});
    request.check = [seen = std::move(seen)](const std::string& ref) {
      return DescribeWork(ref) == seen.at(ref) ? Status() : Meanwhile("rm", ref);
    };
  }
  return ForEachSandbox(request, refs, all, json);
}

int Prune(Arguments arguments) {
  bool json = false, yes = false;
  CLI::App app(
      "Removes sandboxes that are stopped or have ended and hold no changes that were not "
      "promoted.",
      "cloche prune");
  app.add_flag("-y,--yes", yes, "do not ask");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;
  const auto sandboxes = Call("GET", "/v1/sandboxes?all=1");
  if (!sandboxes) return PrintError(sandboxes.error(), json);
  std::vector<std::string> refs;
  Table table({"ID", "NAME", "STATE", "PROJECT"});
  size_t kept = 0;
  for (const Json& sandbox : *sandboxes) {
    const Idle idle = FindIdle(sandbox);
    if (!idle.without_work) {
      if (idle.stopped) ++kept;
      continue;
    }
    refs.push_back(Text(sandbox, "id"));
    const std::string name = Text(sandbox, "name");
    table.AddRow(
        {refs.back(), name.empty() ? "-" : name, DescribeState(sandbox), PlaceOf(sandbox)});
  }
  if (!json && kept > 0)
    TellLine(fmt::format("cloche: {} stopped sandbox{} with unpromoted work {} left (cloche rm)",
                         kept, kept == 1 ? "" : "es", kept == 1 ? "is" : "are"));
  if (refs.empty()) {
    if (json)
      PrintJson(Json::array());
    else
      TellLine("cloche: nothing to remove");
    return 0;
  }
  if (!yes) {
    if (!CanAsk(json))
      return PrintError({Code::kInvalid,
                         fmt::format("prune: confirmation needs a terminal; {} "
                                     "would be removed",
                                     refs.size()),
                         "look with cloche ls --all, then pass --yes"},
                        json);
    WriteAll(STDERR_FILENO, table.Render(ColourWanted(STDERR_FILENO), "  "));
    if (!Confirmed(refs.size() == 1 ? "Remove it?" : fmt::format("Remove these {}?", refs.size())))
      return PrintError({Code::kConflict, "prune: not confirmed, nothing was removed", ""});
  }
  return ForEachSandbox({"DELETE", "", "", CheckStillIdle}, refs, false, json);
}

}  // namespace cloche::cli
