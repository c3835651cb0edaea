#include <fmt/core.h>
#include <unistd.h>

#include <ctime>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/promote_show.h"
#include "cli/sandbox_view.h"
#include "cli/surroundings.h"
#include "cli/take_back.h"

namespace cloche::cli {
namespace {

bool IsIn(const std::string& directory, const std::string& project) {
  return !project.empty() && (directory + "/").starts_with(project + "/");
}

// The last promotion that is in place in this project, confirmed by the person at the terminal.
Result<std::string> LastPromotion(const Surroundings& around, bool yes, bool json) {
  ASSIGN_OR_RETURN(const Json answer, AskPromoter({"list", around.home}));
  if (!json) TellRecovered(answer);
  const Json *last = nullptr, *elsewhere = nullptr;
  for (const Json& each : Field(answer, "promotions"))
    if (Text(each, "state") == "done")
      (IsIn(around.cwd, Text(each, "project")) ? last : elsewhere) = &each;
  if (last == nullptr && elsewhere != nullptr)
    return Fail(
        Code::kNotFound, "undo: there is no promotion of this project to take back",
        fmt::format("the last one is of {}: cloche undo {}",
                    EscapeForTerminal(DescribePlace(Text(*elsewhere, "project"), around.home)),
                    Text(*elsewhere, "id")));
  if (last == nullptr)
    return Fail(Code::kNotFound, "undo: there is no promotion to take back",
                "cloche promotions lists what was applied");
  const std::string id = Text(*last, "id");
  const std::string what =
      fmt::format("{}, {} step{} in {}, from {}, {} ago", id, DescribeValue(Field(*last, "steps")),
                  Number(*last, "steps") == 1 ? "" : "s",
                  EscapeForTerminal(DescribePlace(Text(*last, "project"), around.home)),
                  EscapeForTerminal(Text(*last, "sandbox")),
                  DescribeAge(Text(*last, "created"), time(nullptr)));
  if (yes) return id;
  if (!CanAsk(json))
    return Fail(Code::kInvalid, "undo: confirmation needs a terminal; the last is " + what,
                "pass --yes, or its id: cloche undo " + id);
  if (!Confirmed("Take back " + what + "?"))
    return Fail(Code::kConflict, "undo: not confirmed, nothing was undone");
  return id;
}

}  // namespace

int Promotions(Arguments arguments) {
  bool json = false;
  CLI::App app("Lists what was applied to reality, newest last.", "cloche promotions");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;
  const auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  const auto answer = AskPromoter({"list", around->home});
  if (!answer) return PrintError(answer.error(), json);
  if (!json) TellRecovered(*answer);
  if (json) {
    PrintJson(Field(*answer, "promotions"));
    return 0;
  }
  Table table({"PROMOTION", "CREATED", "STATE", "STEPS", "SANDBOX", "PROJECT"});
  table.AlignRight(3);
  for (const Json& each : Field(*answer, "promotions"))
    table.AddRow({Text(each, "id"), Text(each, "created"), Text(each, "state"),
                  DescribeValue(Field(each, "steps")), Text(each, "sandbox"),
                  DescribePlace(Text(each, "project"), around->home)});
  if (!table.empty()) WriteAll(STDOUT_FILENO, table.Render(ColourWanted(STDOUT_FILENO)));
  return 0;
}

int Undo(Arguments arguments) {
  std::string id;
  std::vector<std::string> force;
  bool json = false, yes = false;
  CLI::App app("Takes a promotion back, byte for byte.", "cloche undo");
  app.add_option("PROMOTION", id,
                 "its id: cloche promotions shows them; default: the last of this project");
  app.add_flag("-y,--yes", yes, "without an id: do not ask");
  AddList(app, "--force-paths", force, "take this path back, whatever reality has there now");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "[PROMOTION]", arguments)) return *status;
  const auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  if (id.empty()) {
    const auto last = LastPromotion(*around, yes, json);
    if (!last) return PrintError(last.error(), json);
    id = *last;
  }
  for (std::string& path : force)
    if (!path.starts_with('/')) path = around->cwd + "/" + path;
  const auto answer = TakeBack(around->home, id, force);
  if (!answer) return PrintError(answer.error(), json);
  if (!json) TellRecovered(*answer);
  if (const Json& moved = Field(*answer, "moved"); !moved.empty()) {
    if (!json)
      for (const Json& path : moved)
        if (path.is_string()) ListOnStandardError(path.get<std::string>());
    return PrintError(
        {Code::kConflict,
         fmt::format("undo {}: reality has moved on at {} of its paths, nothing was undone",
                     EscapeForTerminal(id), moved.size()),
         "--force-paths PATH takes it back all the same; what is there now is kept in the "
         "promotion"},
        json);
  }
  if (json) {
    PrintJson(*answer);
    return 0;
  }
  if (const std::string why = Text(*answer, "not_shown"); !why.empty())
    WriteAll(STDERR_FILENO,
             fmt::format("cloche: running sandboxes may show what was there before: {}\n", why));
  WriteAll(STDERR_FILENO, fmt::format("cloche: {} is taken back\n", EscapeForTerminal(id)));
  return 0;
}

}  // namespace cloche::cli
