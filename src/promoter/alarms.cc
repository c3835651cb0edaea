#include "promoter/alarms.h"

#include <fmt/format.h>

#include "promote/credentials.h"
#include "promote/triggers.h"

namespace cloche::promoter {
namespace {

std::optional<promote::Version> VersionOf(const std::optional<diff::Side>& side,
                                          const std::string& text) {
  if (!side) return std::nullopt;
  promote::Version version{side->type, side->mode, std::nullopt};
  if (side->type == diff::FileType::kSymlink) version.content = side->target;
  // What was too large to be kept is not there.
  if (side->type == diff::FileType::kFile && text.size() == side->size) version.content = text;
  return version;
}

}  // namespace

void FindAlarms(const differ::Compared& compared, const Wish& wish, std::vector<Alarm>& alarms) {
  const diff::Change& change = compared.change;
  promote::FileChange file;
  file.path = change.path;
  file.before = VersionOf(change.old_side, compared.old_text);
  file.after = VersionOf(change.new_side, compared.new_text);
  file.same_content = change.old_side && change.new_side && !change.differs.content &&
                      !change.differs.type && !change.differs.target;
  const promote::Roots roots{wish.to.empty() ? wish.project : wish.to, wish.home};
  for (promote::Trigger& each : promote::FindTriggers(file, roots)) {
    Alarm alarm{change.path, std::string(each.id), std::string(each.reason),
                each.severity == promote::Severity::kAlarm, std::move(each.effective)};
    if (each.left_out > 0) alarm.effective.push_back(fmt::format("... {} more", each.left_out));
    alarms.push_back(std::move(alarm));
  }
  if (!file.after || file.after->type != diff::FileType::kFile || !file.after->content) return;
  std::optional<std::string_view> before;
  if (file.before) before = file.before->content;
  for (const promote::Credential& each :
       promote::FindCredentials(change.path, before, *file.after->content))
    alarms.push_back({change.path,
                      "credential",
                      fmt::format("it holds a {}: secrets do not belong into files", each.kind),
                      true,
                      {fmt::format("line {}: {}", each.line, each.masked)}});
}

}  // namespace cloche::promoter
