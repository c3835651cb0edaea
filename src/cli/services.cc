#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {
namespace {

int RestartService(const std::string& ref, const std::string& name, bool json) {
  const auto target = SandboxTarget(ref, "/services/" + EncodeSegment(name) + "/restart");
  if (!target) return PrintError(target.error(), json);
  const auto answer = Call("POST", *target);
  if (!answer) return PrintError(answer.error(), json);
  if (json) PrintJson(*answer);
  return 0;
}

int PrintServiceOutput(const std::string& ref, const std::string& name) {
  const auto target = SandboxTarget(ref, "/services/" + EncodeSegment(name) + "/output");
  if (!target) return PrintError(target.error());
  const auto bytes = CallForBytes(*target + "?stream=stderr");
  if (!bytes) return PrintError(bytes.error());
  WriteAll(STDOUT_FILENO, isatty(STDOUT_FILENO) ? LinesForTerminal(*bytes) : *bytes);
  return 0;
}

}  // namespace

int Services(Arguments arguments) {
  std::vector<std::string> words;
  bool json = false;
  CLI::App app(
      "Lists the services of a sandbox made with --with-service, prints what one wrote, or starts "
      "it again.",
      "cloche services");
  app.add_option("WORDS", words, "a sandbox; a sandbox and a service; restart SANDBOX SERVICE")
      ->required();
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "SANDBOX [SERVICE] | restart SANDBOX SERVICE", arguments))
    return *status;
  if (words.size() == 3 && words[0] == "restart") return RestartService(words[1], words[2], json);
  if (words.size() == 2) return PrintServiceOutput(words[0], words[1]);
  if (words.size() != 1)
    return PrintError(
        {Code::kInvalid, "services: one sandbox, or restart", "cloche services --help"}, json);
  const auto target = SandboxTarget(words[0], "/services");
  if (!target) return PrintError(target.error(), json);
  const auto list = Call("GET", *target);
  if (!list) return PrintError(list.error(), json);
  if (json)
    PrintJson(*list);
  else if (!list->empty())
    WriteAll(STDOUT_FILENO, ServiceTable(*list, ColourWanted(STDOUT_FILENO)));
  return 0;
}

}  // namespace cloche::cli
