#include "cli/each.h"

#include <unistd.h>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/request.h"

namespace cloche::cli {
namespace {

Result<Json> CallOne(const EachSandbox& request, const std::string& ref) {
  ASSIGN_OR_RETURN(const std::string target, SandboxTarget(ref, request.rest));
  if (request.check) CLOCHE_TRY(request.check(ref));
  return Call(request.method, target);
}

}  // namespace

Result<std::vector<std::string>> AllSandboxes(const char* listing) {
  ASSIGN_OR_RETURN(const Json sandboxes, Call("GET", std::string("/v1/sandboxes") + listing));
  std::vector<std::string> refs;
  for (const Json& sandbox : sandboxes) refs.push_back(Text(sandbox, "id"));
  return refs;
}

int ForEachSandbox(const EachSandbox& request, std::vector<std::string> refs, bool all, bool json) {
  if (refs.empty() && !all)
    return PrintError({Code::kInvalid, "no sandbox named", "name one, or give --all"}, json);
  if (all) {
    auto listed = AllSandboxes(request.listing);
    if (!listed) return PrintError(listed.error(), json);
    refs = *std::move(listed);
  }
  Json answers = Json::array();
  int status = 0;
  for (const std::string& ref : refs) {
    auto answer = CallOne(request, ref);
    if (!answer) {
      const int failure = json ? ExitStatus(answer.error().code) : PrintError(answer.error());
      if (status == 0) status = failure;
      if (json) answers.push_back({{"id", ref}, {"error", ErrorJson(answer.error())}});
      continue;
    }
    if (!json) WriteAll(STDOUT_FILENO, EscapeForTerminal(Text(*answer, "id", ref)) + "\n");
    answers.push_back(*std::move(answer));
  }
  if (json) PrintJson(answers);
  return status;
}

}  // namespace cloche::cli
