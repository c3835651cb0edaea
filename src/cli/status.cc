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

int ShowStatus(Arguments arguments) {
  bool json = false;
  CLI::App app("Shows the daemon. Does not start one.", "cloche status");
  AddJsonFlag(app, json);
  if (auto status = Parse(app, "", arguments)) return *status;

  const auto answer = Call("GET", "/v1/status", nullptr, StartDaemon::kNever);
  if (!answer) return PrintError(answer.error(), json);
  if (json) {
    PrintJson(*answer);
    return 0;
  }
  Table table({});
  if (answer->is_object())
    for (const auto& [key, value] : answer->items()) {
      if (key == "uptime_s" && value.is_number()) {
        table.AddRow({"uptime", FormatAge(value.get<double>())});
      } else if (key == "rss_bytes" && value.is_number()) {
        table.AddRow({"memory", FormatBytes(static_cast<uint64_t>(value.get<double>()))});
      } else {
        table.AddRow({key, DescribeValue(value)});
      }
    }
  WriteAll(STDOUT_FILENO, table.Render(false));
  return 0;
}

}  // namespace cloche::cli
