#include "base/error_json.h"

namespace cloche {

using Json = nlohmann::ordered_json;

Json ErrorJson(const Error& error) {
  return {{"code", CodeName(error.code)}, {"message", error.message}, {"cure", error.cure}};
}

Error ErrorFromJson(const Json& object) {
  const auto text = [&object](const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  return {CodeFromName(text("code")), text("message"), text("cure")};
}

}  // namespace cloche
