#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"

namespace cloche::cli {

int TakeSnapshot(Arguments arguments) {
  std::string ref, name, note;
  bool json = false, timing = false;
  CLI::App app("Saves the state of a sandbox, also while it runs, and prints the snapshot's id.",
               "cloche snapshot");
  app.add_option("SANDBOX", ref, "id, unique prefix of it, or name")->required();
  app.add_option("--name", name, "a name for the snapshot; named ones are never pruned")
      ->type_name("NAME");
  app.add_option("--note", note, "what it is")->type_name("TEXT");
  app.add_flag("--timing", timing, "print where each millisecond went");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX", arguments)) return *status;

  const auto target = SandboxTarget(ref, "/snapshots");
  if (!target) return PrintError(target.error(), json);
  Json body = Json::object();
  if (!name.empty()) body["name"] = name;
  if (!note.empty()) body["note"] = note;
  const auto made = Call("POST", *target, body);
  if (!made) return PrintError(made.error(), json);
  if (json) {
    PrintJson(*made);
    return 0;
  }
  WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(*made, "id")) + "\n");
  if (!timing) return 0;
  Table table({"STEP", "MS"});
  table.AlignRight(1);
  for (const auto& [step, spent] : Field(*made, "timing_ms").items())
    if (spent.is_number())
      table.AddRow({EscapeForTerminal(step), fmt::format("{:.3f}", spent.get<double>())});
  table.AddRow({"cloche: total", fmt::format("{:.3f}", SinceStartMs())});
  WriteAll(STDERR_FILENO, table.Render(ColourWanted(STDERR_FILENO), "  "));
  return 0;
}

}  // namespace cloche::cli
