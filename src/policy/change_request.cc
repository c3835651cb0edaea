#include "policy/change_request.h"

#include <fmt/core.h>

#include "base/text.h"
#include "policy/fields.h"
#include "policy/paths.h"

namespace cloche {
namespace {

constexpr size_t kMaxGlobs = 1024;
constexpr size_t kMaxGlob = 4096;

// Path to content, where a person chose it line by line.
nlohmann::json ReadTexts(FieldReader& reader) {
  const nlohmann::json* texts = reader.Object("texts");
  if (!texts) return nlohmann::json::object();
  for (const auto& [path, text] : texts->items()) {
    const auto clean = CleanPath(path, "texts");
    if (!clean || *clean != path || !text.is_string()) {
      reader.Refuse("texts", "it is not a map of absolute paths to texts", "leave it out");
      return nlohmann::json::object();
    }
  }
  return *texts;
}

}  // namespace

Result<DiffRequest> ParseDiffRequest(
    const std::vector<std::pair<std::string, std::string>>& query) {
  DiffRequest request;
  for (const auto& [key, value] : query) {
    if (key == "snapshot") {
      request.snapshot = value;
    } else if (key == "against") {
      request.against = value == "reality" ? "" : value;
    } else if (key == "format" && (value == "patch" || value == "json")) {
      request.patch = value == "patch";
    } else if (key == "lines") {
      request.lines = value == "1";
    } else if (key == "root" || key == "path") {
      ASSIGN_OR_RETURN(std::string path, CleanPath(value, key));
      if (key == "root")
        request.root = std::move(path);
      else
        request.paths.push_back(std::move(path));
    } else {
      return Fail(Code::kInvalid,
                  fmt::format("read query: {} = '{}' is unknown", EscapeForTerminal(key),
                              EscapeForTerminal(value.substr(0, 100))),
                  "see openapi.yaml");
    }
  }
  return request;
}

Result<PromotionRequest> ParsePromotionRequest(const nlohmann::json& body) {
  PromotionRequest request;
  std::string digest;
  std::vector<std::string> paths, exclude, path_globs, exclude_globs, leave, ours, theirs;
  std::string to;
  bool dry_run = false, allow_triggers = false, with_texts = false, with_noise = false;
  FieldReader reader(body, "");
  reader.Text("digest", digest, 128);
  reader.Text("snapshot", request.snapshot, 128);
  reader.Paths("paths", paths);
  reader.Paths("exclude", exclude);
  reader.Texts("path_globs", path_globs, kMaxGlobs, kMaxGlob);
  reader.Texts("exclude_globs", exclude_globs, kMaxGlobs, kMaxGlob);
  reader.Paths("leave", leave);
  reader.Paths("ours", ours);
  reader.Paths("theirs", theirs);
  reader.Path("to", to);
  const nlohmann::json texts = ReadTexts(reader);
  reader.Bool("dry_run", dry_run);
  reader.Bool("with_texts", with_texts);
  reader.Bool("with_noise", with_noise);
  reader.Bool("allow_triggers", allow_triggers);
  if (digest.empty() && !dry_run)
    reader.Refuse("digest", "it is missing: what was looked at is what is applied",
                  "ask with dry_run first, and give the digest of its answer");
  CLOCHE_TRY(reader.Finish());
  if (path_globs.empty()) request.paths = paths;
  request.asked = {{"digest", digest},
                   {"paths", paths},
                   {"exclude", exclude},
                   {"path_globs", path_globs},
                   {"exclude_globs", exclude_globs},
                   {"leave", leave},
                   {"ours", ours},
                   {"theirs", theirs},
                   {"to", to},
                   {"with_texts", with_texts},
                   {"with_noise", with_noise},
                   {"texts", texts},
                   {"dry_run", dry_run},
                   {"allow_triggers", allow_triggers}};
  return request;
}

Result<std::vector<std::string>> ParseFlattenRequest(const nlohmann::json& body) {
  std::vector<std::string> paths;
  FieldReader reader(body, "");
  reader.Paths("paths", paths);
  if (paths.empty()) reader.Refuse("paths", "it names no directory", "name those that are to go");
  CLOCHE_TRY(reader.Finish());
  return paths;
}

}  // namespace cloche
