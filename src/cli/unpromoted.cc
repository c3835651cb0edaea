#include "cli/unpromoted.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>

#include "base/error_json.h"
#include "cli/client.h"
#include "cli/line_splitter.h"
#include "cli/request.h"
#include "diff/change.h"

namespace cloche::cli {

Result<size_t> CountUnpromoted(const std::string& sandbox) {
  ASSIGN_OR_RETURN(const std::string target, SandboxTarget(sandbox, "/changes"));
  size_t count = 0;
  std::optional<Error> error;
  LineSplitter lines([&](std::string_view line) {
    if (line.starts_with("{\"summary\"")) return;
    if (line.starts_with("{\"error\"")) {
      error = ErrorFromJson(Field(Json::parse(line, nullptr, false), "error"));
      return;
    }
    const auto change = diff::DecodeJsonLine(line);
    if (change && change->noise.empty()) ++count;
  });
  const Status status = CallForPieces(target, [&](std::string_view piece) { lines.Add(piece); });
  lines.End();
  if (error) return std::unexpected(*error);
  if (!status) return std::unexpected(status.error());
  return count;
}

std::string DescribeUnpromoted(size_t count) {
  return fmt::format("{} change{}", count, count == 1 ? "" : "s");
}

}  // namespace cloche::cli
