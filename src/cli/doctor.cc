#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/print.h"

namespace cloche::cli {
namespace {

struct Mark {
  const char* sign;
  const char* sgr;
};

Mark MarkOf(const std::string& status) {
  if (status == "ok") return {"✓", "32"};
  if (status == "missing") return {"✗", "31"};
  if (status == "weak") return {"!", "33"};
  return {"·", "2"};
}

std::string Describe(const Json& report, bool colour) {
  std::string text;
  size_t width = 0;
  for (const Json& check : Field(report, "checks"))
    width = std::max(width, DisplayWidth(EscapeForTerminal(Text(check, "name"))));
  for (const Json& check : Field(report, "checks")) {
    const Mark mark = MarkOf(Text(check, "status"));
    const std::string name = EscapeForTerminal(Text(check, "name"));
    const std::string detail = EscapeForTerminal(Text(check, "detail"));
    text +=
        fmt::format("{} {}{}{}\n", Coloured(colour, mark.sgr, mark.sign), name,
                    detail.empty() ? "" : std::string(width - DisplayWidth(name) + 2, ' '), detail);
    if (const std::string cure = Text(check, "cure"); !cure.empty())
      text += "    " + Coloured(colour, "1", "cure:") + " " + EscapeForTerminal(cure) + "\n";
  }
  return text;
}

bool IsMissing(const Json& check) { return Text(check, "status") == "missing"; }

}  // namespace

int Doctor(Arguments arguments) {
  bool json = false;
  CLI::App app("Says what works on this machine, what is missing and the command that fixes it.",
               "cloche doctor");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;

  const auto answer = Call("GET", "/v1/doctor");
  // People run doctor most often when the daemon does not start.
  const Json report = answer ? *answer
                             : Json{{"id", "doctor"},
                                    {"version", CLOCHE_VERSION},
                                    {"checks",
                                     {{{"name", "daemon"},
                                       {"status", "missing"},
                                       {"detail", answer.error().message},
                                       {"cure", answer.error().cure}}}}};
  if (json) {
    PrintJson(report);
  } else {
    WriteAll(STDOUT_FILENO, Describe(report, ColourWanted(STDOUT_FILENO)));
  }
  return std::ranges::any_of(Field(report, "checks"), IsMissing) ? 1 : 0;
}

}  // namespace cloche::cli
