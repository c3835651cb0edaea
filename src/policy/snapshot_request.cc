#include "policy/snapshot_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/fields.h"
#include "policy/paths.h"
#include "policy/request.h"

namespace cloche {
namespace {

constexpr size_t kMostForks = 1000;
constexpr size_t kMaxNote = 1000;
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxGlobs = 1024;
constexpr size_t kMaxGlob = 4096;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Path to content, where a person chose it line by line.
nlohmann::json ReadTexts(FieldReader& reader) {
  const nlohmann::json* texts = reader.Object("texts");
  if (!texts) return nlohmann::json::object();
  for (const auto& [path, text] : texts->items()) {
    const auto clean = CleanPath(path, "texts");
    if (!clean || *clean != path || !text.is_string()) {
      reader.Refuse("texts", "it is no map of absolute paths to texts", "leave it out");
      return nlohmann::json::object();
    }
  }
  return *texts;
}

}  // namespace

Result<LookRequest> ParseLookRequest(
    const std::vector<std::pair<std::string, std::string>>& query) {
  LookRequest request;
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

Result<LookRequest> ParsePromoteRequest(const nlohmann::json& body) {
  LookRequest request;
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
  request.promote = {{"digest", digest},
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

Result<SnapshotRequest> ParseSnapshotRequest(const nlohmann::json& body) {
  SnapshotRequest request;
  FieldReader reader(body, "");
  reader.Text("name", request.name, kMaxName);
  reader.Text("note", request.note, kMaxNote);
  if (reader.ok() && !request.name.empty() && !IsValidSandboxName(request.name))
    reader.Refuse("name",
                  fmt::format("'{}' is no name for a snapshot",
                              EscapeForTerminal(std::string_view(request.name).substr(0, 100))),
                  "use 1 to 63 of a-z, 0-9 and -, beginning with a letter");
  if (std::ranges::any_of(request.note, IsControl))
    reader.Refuse("note", "it holds a control character", "give one line of printable text");
  CLOCHE_TRY(reader.Finish());
  return request;
}

Result<RollbackRequest> ParseRollbackRequest(const nlohmann::json& body) {
  RollbackRequest request;
  FieldReader reader(body, "");
  reader.Text("snapshot", request.snapshot, kMaxName);
  reader.Bool("undo_command", request.undo_command);
  if (request.undo_command && !request.snapshot.empty())
    reader.Refuse("undo_command", "it has a snapshot of its own", "leave out one of the two");
  CLOCHE_TRY(reader.Finish());
  return request;
}

Result<ForkRequest> ParseForkRequest(const nlohmann::json& body) {
  ForkRequest request;
  FieldReader reader(body, "");
  std::optional<uint64_t> count;
  reader.Integer("count", count, {.least = 1, .most = kMostForks});
  reader.Texts("names", request.names, kMostForks, kMaxName);
  request.count = count.value_or(std::max<size_t>(1, request.names.size()));
  if (const nlohmann::json* limits = reader.Object("limits")) {
    Result<Limits> parsed = ParseLimits(*limits);
    if (parsed)
      request.limits = *parsed;
    else
      reader.Take(std::unexpected(std::move(parsed).error()));
  }
  for (const std::string& name : request.names)
    if (reader.ok()) reader.Take(CheckSandboxName(name));
  const std::set<std::string> distinct(request.names.begin(), request.names.end());
  if (!request.names.empty() &&
      (request.names.size() != request.count || distinct.size() != request.count))
    reader.Refuse("names",
                  fmt::format("{} different ones for {} forks", distinct.size(), request.count),
                  "give a name for each, or none");
  CLOCHE_TRY(reader.Finish());
  return request;
}

}  // namespace cloche
