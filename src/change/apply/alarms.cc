#include "change/apply/alarms.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "change/apply/rights.h"
#include "change/rules/credentials.h"
#include "change/rules/triggers.h"
#include "policy/paths.h"

namespace cloche::apply {
namespace {

std::optional<rules::Version> VersionOf(const std::optional<change::Side>& side,
                                        const std::string& text) {
  if (!side) return std::nullopt;
  rules::Version version{side->type, side->mode, std::nullopt};
  if (side->type == change::FileType::kSymlink) version.content = side->target;
  // Content that was too large to keep is missing.
  if (side->type == change::FileType::kFile && text.size() == side->size) version.content = text;
  return version;
}

bool ByTheFileAlone(std::string_view id) { return id == "executable" || id == "unseen"; }

Alarm AlarmOf(const std::string& path, rules::Trigger trigger) {
  Alarm alarm{path, std::string(trigger.id), std::string(trigger.reason),
              trigger.severity == rules::Severity::kAlarm, std::move(trigger.effective)};
  if (trigger.left_out > 0) alarm.effective.push_back(fmt::format("... {} more", trigger.left_out));
  return alarm;
}

// A file can be a trigger under any of its names.
void FindByOtherNames(const rules::FileChange& file, const rules::Roots& roots, Links& links,
                      std::vector<Alarm>& alarms) {
  if (!file.after || file.after->type == change::FileType::kDirectory) return;
  const std::string path(file.path);
  const size_t own = alarms.size();
  const Links::Names names = links.NamesOf(path, file.after->type == change::FileType::kSymlink);
  for (const std::string& name : names.paths) {
    rules::FileChange other = file;
    other.path = name;
    for (rules::Trigger& each : rules::FindTriggers(other, roots)) {
      // People edit a project's own commands every day, so a link within the project does not
      // alarm.
      const bool in_project =
          !roots.project.empty() && IsAtOrBelow(name, std::string(roots.project));
      if (each.id == "bin-directory" && in_project) each.severity = rules::Severity::kNotice;
      const bool alarm = each.severity == rules::Severity::kAlarm;
      const bool told = std::ranges::any_of(alarms, [&](const Alarm& known) {
        return known.path == path && known.kind == each.id && known.alarm >= alarm;
      });
      if (told || ByTheFileAlone(each.id)) continue;
      each.effective.insert(each.effective.begin(), "by a link it is also " + name);
      alarms.push_back(AlarmOf(path, std::move(each)));
    }
  }
  for (size_t i = 0; i <= names.paths.size(); ++i) {
    for (const NamedFiles::As& as : links.named().Of(i == 0 ? path : names.paths[i - 1])) {
      auto trigger = rules::JudgedAs(as.id, file, roots);
      if (!trigger) continue;
      const bool alarm = trigger->severity == rules::Severity::kAlarm;
      if (std::ranges::any_of(alarms, [&](const Alarm& known) {
            return known.path == path && known.kind == trigger->id && known.alarm >= alarm;
          }))
        continue;
      trigger->effective.insert(trigger->effective.begin(), as.why);
      alarms.push_back(AlarmOf(path, std::move(*trigger)));
    }
  }
  if (!names.all)
    alarms.insert(alarms.begin() + static_cast<ptrdiff_t>(own),
                  {path, "links", "Links lead to it by more names than are looked at.", true, {}});
}

}  // namespace

void FindAlarms(const walk::Compared& compared, const Wish& wish, Links& links,
                std::vector<Alarm>& alarms) {
  const change::Change& change = compared.change;
  rules::FileChange file;
  file.path = change.path;
  file.before = VersionOf(change.old_side, compared.old_text);
  file.after = VersionOf(change.new_side, compared.new_text);
  file.same_content = change.old_side && change.new_side && !change.differs.content &&
                      !change.differs.type && !change.differs.target;
  file.make_commands = links.make_commands();
  const rules::Roots roots{wish.to.empty() ? wish.project : wish.to, wish.home};
  std::vector<Alarm> found;
  for (rules::Trigger& each : rules::FindTriggers(file, roots))
    found.push_back(AlarmOf(change.path, std::move(each)));
  FindByOtherNames(file, roots, links, found);
  FindRights(change, wish, found);
  if (file.after && file.after->type == change::FileType::kFile && file.after->content) {
    std::optional<std::string_view> before;
    if (file.before) before = file.before->content;
    for (const rules::Credential& each :
         rules::FindCredentials(change.path, before, *file.after->content))
      found.push_back({change.path,
                       "credential",
                       fmt::format("it holds a {}: secrets do not belong into files", each.kind),
                       true,
                       {fmt::format("line {}: {}", each.line, each.masked)}});
  }
  std::ranges::move(found, std::back_inserter(alarms));
}

void FindUnsearched(const Wish& wish, const Links& links, std::vector<Alarm>& alarms) {
  if (links.whole()) return;
  alarms.push_back({wish.to.empty() ? wish.project : wish.to,
                    "links",
                    "It has more files or links than are searched for links to what is changed.",
                    true,
                    {"promote a part of it, from a smaller project"}});
}

}  // namespace cloche::apply
