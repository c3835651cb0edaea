#include "policy/snapshot_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/fields.h"
#include "policy/request.h"

namespace cloche {
namespace {

constexpr size_t kMostForks = 1000;
constexpr size_t kMaxNote = 1000;
constexpr size_t kMaxName = 4096;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Result<SnapshotRequest> ParseSnapshotRequest(const nlohmann::json& body) {
  SnapshotRequest request;
  FieldReader reader(body, "");
  reader.Text("name", request.name, kMaxName);
  reader.Text("note", request.note, kMaxNote);
  if (reader.ok() && !request.name.empty() && !IsValidSandboxName(request.name))
    reader.Refuse("name",
                  fmt::format("'{}' cannot be the name of a snapshot",
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
