#include "cli/unpromoted.h"

#include <fmt/core.h>

#include <string_view>

#include "base/error_json.h"
#include "change/model/change.h"
#include "cli/client.h"
#include "cli/line_splitter.h"
#include "cli/request.h"

namespace cloche::cli {

Result<size_t> CountUnpromoted(const std::string& sandbox) {
  ASSIGN_OR_RETURN(const std::string target, SandboxTarget(sandbox, "/changes"));
  size_t count = 0;
  Json last;  // of the answer: {summary} or {error}
  LineSplitter lines([&](std::string_view line) {
    if (line.starts_with("{\"summary\"") || line.starts_with("{\"error\"")) {
      last = Json::parse(line, nullptr, false);
      return;
    }
    const auto change = change::DecodeJsonLine(line);
    if (!change || change->noise.empty()) ++count;
  });
  const Status status = CallForPieces(target, [&](std::string_view piece) { lines.Add(piece); });
  lines.End();
  if (const Json& error = Field(last, "error"); error.is_object())
    return std::unexpected(ErrorFromJson(error));
  if (!status) return std::unexpected(status.error());
  const Json& summary = Field(last, "summary");
  if (!summary.is_object()) return Fail(Code::kInternal, "count changes: the answer has no end");
  // Unreadable directories may hold work.
  if (const double unreadable = Number(summary, "unreadable"); unreadable > 0)
    return Fail(Code::kUnavailable, fmt::format("{:.0f} of it cannot be read", unreadable),
                "make it readable inside (chmod u+rwx)");
  return count;
}

std::string DescribeUnpromoted(size_t count) {
  return fmt::format("{} change{}", count, count == 1 ? "" : "s");
}

}  // namespace cloche::cli
