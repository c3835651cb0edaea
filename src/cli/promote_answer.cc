#include "cli/promote_answer.h"

#include <unistd.h>

#include "base/error_json.h"
#include "cli/client.h"
#include "cli/json_output.h"
#include "cli/line_splitter.h"

namespace cloche::cli {
// Parses the answer as it comes: cloche-promote gives each change a line of its own.
Result<PromoteAnswer> AskPromote(const std::string& target, const Json& body) {
  PromoteAnswer answer;
  std::string rest;
  bool inside = false;
  LineSplitter lines([&](std::string_view line) {
    if (inside && line.starts_with('{')) {
      if (line.ends_with(',')) line.remove_suffix(1);
      answer.changes.emplace_back(line);
      return;
    }
    rest += line;
    inside = line.ends_with(R"("changes":[)");
  });
  const auto take = [&](std::string_view piece) { lines.Add(piece); };
  CLOCHE_TRY(CallForPieces(target, take, "POST", body));
  lines.End();
  answer.json = Json::parse(rest, nullptr, false);
  if (!answer.json.is_object())
    return Fail(Code::kInternal, "read the answer of cloched: not JSON");
  if (answer.json.contains("error")) return std::unexpected(ErrorFromJson(answer.json["error"]));
  answer.json.erase("changes");
  return answer;
}

void PrintAnswer(const PromoteAnswer& answer) {
  constexpr size_t kWrittenAtOnce = 1 << 20;
  if (isatty(STDOUT_FILENO)) {
    Json json = answer.json;
    json["changes"] = Json::array();
    for (const std::string& each : answer.changes)
      json["changes"].push_back(Json::parse(each, nullptr, false));
    return PrintJson(json);
  }
  std::string text = JsonText(answer.json);
  text.back() = ',';
  text += R"("changes":[)";
  for (const std::string& each : answer.changes) {
    if (&each != &answer.changes.front()) text += ',';
    text += each;
    if (text.size() < kWrittenAtOnce) continue;
    WriteJson(std::move(text));
    text.clear();
  }
  WriteJson(text + "]}\n");
}

}  // namespace cloche::cli
