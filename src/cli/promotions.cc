#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/ask.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/promote_show.h"
#include "cli/sandbox_view.h"
#include "cli/surroundings.h"

namespace cloche::cli {
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
  Table table({"PROMOTION", "CREATED", "STATE", "STEPS", "SANDBOX"});
  table.AlignRight(3);
  for (const Json& each : Field(*answer, "promotions"))
    table.AddRow({Text(each, "id"), Text(each, "created"), Text(each, "state"),
                  DescribeValue(Field(each, "steps")), Text(each, "sandbox")});
  if (!table.empty()) WriteAll(STDOUT_FILENO, table.Render(ColourWanted(STDOUT_FILENO)));
  return 0;
}

int Undo(Arguments arguments) {
  std::string id;
  std::vector<std::string> force;
  bool json = false;
  CLI::App app("Takes a promotion back, byte for byte.", "cloche undo");
  app.add_option("PROMOTION", id, "its id: cloche promotions shows them")->required();
  AddList(app, "--force-paths", force, "take this path back, whatever reality has there now");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "PROMOTION", arguments)) return *status;
  const auto around = ReadSurroundings();
  if (!around) return PrintError(around.error(), json);
  std::vector<std::string> words = {"undo", around->home, id};
  for (const std::string& path : force)
    words.push_back(path.starts_with('/') ? path : around->cwd + "/" + path);
  const auto answer = AskPromoter(std::move(words));
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
  if (json) PrintJson(*answer);
  return 0;
}

}  // namespace cloche::cli
