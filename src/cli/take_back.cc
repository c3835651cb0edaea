#include "cli/take_back.h"

#include "cli/ask.h"
#include "cli/client.h"
#include "cli/sandbox_view.h"

namespace cloche::cli {

Result<Json> TakeBack(const std::string& home, const std::string& id,
                      const std::vector<std::string>& force) {
  std::vector<std::string> words = {"undo", home, id};
  words.insert(words.end(), force.begin(), force.end());
  ASSIGN_OR_RETURN(Json answer, AskPromoter(words));
  if (!Field(answer, "moved").empty()) return answer;
  if (const Json takes = Field(answer, "takes"); !takes.empty()) {
    if (auto copied = Call("POST", "/v1/reality/flatten", {{"paths", takes}}); !copied) {
      Error error = copied.error();
      error.message += "; nothing was undone";
      return std::unexpected(std::move(error));
    }
    words.insert(words.begin() + 1, "--flattened");
    const Json recovered = Field(answer, "recovered");
    ASSIGN_OR_RETURN(answer, AskPromoter(std::move(words)));
    for (const Json& each : recovered) answer["recovered"].push_back(each);
    if (!Field(answer, "moved").empty()) return answer;
  }
  answer.erase("takes");
  // Without a daemon no sandbox runs.
  if (ConnectToDaemon(StartDaemon::kNever)) {
    const auto shown = Call("POST", "/v1/reality", Json::object(), StartDaemon::kNever);
    if (!shown) answer["not_shown"] = shown.error().message;
  }
  return answer;
}

}  // namespace cloche::cli
