// cloche-promote: applies a sandbox's changes to reality, and undoes that.
//   started by cloche-spawn with the caller's rights, like cloche-diff:
//     3  for the answer, one JSON object
//     4  the question, JSON from cloched
//     5  the layout, from cloche-spawn (src/base/state_layout.h)
//   When a sandbox is made, the question is what git knows about its project.
//   started by cloche:
//     list HOME       the user's promotions, JSON
//     undo [--flattened] HOME ID PATH...
//                     undoes one; at each PATH, whatever is there now. An undo that takes
//                     directories away only lists them, unless --flattened says that no other
//                     sandbox shows their content
#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error_json.h"
#include "base/json_text.h"
#include "base/text.h"
#include "change/apply/clock_lag.h"
#include "change/apply/confine.h"
#include "change/apply/held_file.h"
#include "change/apply/outline.h"
#include "change/apply/promote.h"
#include "change/apply/prune.h"
#include "change/apply/rules.h"
#include "change/model/base64.h"
#include "sys/file.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kAnswerFd = 3, kQuestionFd = 4, kLayoutFd = 5;
constexpr size_t kPiece = 1 << 20;  // written at once
constexpr size_t kSweptInPassing = 32;

std::string Dump(const Json& json) {
  return EscapeJson(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Json PromotionJson(const Promotion& promotion) {
  return {{"id", promotion.id},           {"created", promotion.created},
          {"sandbox", promotion.sandbox}, {"project", promotion.project},
          {"digest", promotion.digest},   {"state", StateName(promotion.state)},
          {"steps", promotion.step_count}};
}

Json RecoveredJson(const std::vector<Recovered>& all) {
  Json list = Json::array();
  for (const Recovered& each : all)
    list.push_back(
        {{"id", each.id}, {"what", each.what}, {"problems", each.problems}, {"cure", each.cure}});
  return list;
}

Json ResultJson(const PromotionResult& outcome, bool dry_run) {
  Json conflicts = Json::array();
  for (const Conflict& each : outcome.conflicts)
    conflicts.push_back({{"path", each.path},
                         {"case", each.tag},
                         {"reason", each.reason},
                         {"cure", each.cure},
                         {"may_choose", each.may_choose},
                         {"shown", each.shown}});
  Json json = PromotionJson(outcome.promotion);
  Json alarms = Json::array();
  bool alarmed = false;
  for (const Alarm& each : outcome.alarms) {
    alarmed |= each.alarm;
    alarms.push_back({{"path", each.path},
                      {"kind", each.kind},
                      {"severity", each.alarm ? "alarm" : "notice"},
                      {"reason", each.reason},
                      {"effective", each.effective}});
  }
  if (outcome.promotion.id.empty())
    json["state"] = !outcome.conflicts.empty() ? "conflict"
                    : dry_run                  ? "dry_run"
                    : alarmed                  ? "triggers"
                                               : "nothing";
  json["triggers"] = std::move(alarms);
  json["conflicts"] = std::move(conflicts);
  json["merged"] = outcome.merged;
  json["left_out"] = Json::object();
  for (const auto& [group, files] : outcome.left_out) json["left_out"][group] = files;
  for (const auto& [path, texts] : outcome.texts) {
    if (!IsUtf8(path + texts.ours + texts.theirs + texts.base.value_or(""))) continue;
    Json& each = json["texts"][path];
    each = {{"ours", texts.ours}, {"theirs", texts.theirs}, {"merged", texts.merged}};
    if (texts.base) each["base"] = *texts.base;
  }
  json["notes"] = outcome.notes;
  json["unmatched"] = outcome.unmatched;
  return json;
}

BirthNote ReadNote(const nlohmann::json& question) {
  BirthNote note;
  const auto found = question.find("birth");
  if (found == question.end() || !found->is_object()) return note;
  note.project = found->value("project", "");
  note.commit = found->value("commit", "");
  note.dirty = found->value("dirty", std::set<std::string>());
  note.names = BirthNames::Decode(found->value("names", ""));
  return note;
}

// Without a repository, only the names of files are known.
Result<Json> TakeNote(const std::string& project, const std::string& home, int64_t since_ns) {
  const auto names = project.empty() || project == "/" || project == home
                         ? std::nullopt
                         : BirthNames::Note(project, home, since_ns);
  const Result<BirthNote> git = NoteBirth(project, since_ns);
  if (!git && !names) return std::unexpected(git.error());
  const BirthNote note = git ? *git : BirthNote{project, "", {}, std::nullopt};
  Json json = {{"project", note.project}, {"commit", note.commit}, {"dirty", note.dirty}};
  if (names) json["names"] = names->Encode();
  return json;
}

Result<std::vector<rules::Glob>> ReadGlobs(const nlohmann::json& asked, const char* key) {
  std::vector<rules::Glob> globs;
  for (const std::string& pattern : asked.value(key, std::vector<std::string>())) {
    ASSIGN_OR_RETURN(rules::Glob glob, rules::Glob::Parse(pattern));
    globs.push_back(std::move(glob));
  }
  return globs;
}

// Combines the caller's wishes with what cloched knows about the sandbox.
Result<Wish> ReadWish(const nlohmann::json& question, const nlohmann::json& asked) {
  Wish wish;
  wish.paths = asked.value("paths", std::vector<std::string>());
  wish.exclude = asked.value("exclude", std::vector<std::string>());
  ASSIGN_OR_RETURN(wish.path_globs, ReadGlobs(asked, "path_globs"));
  ASSIGN_OR_RETURN(wish.exclude_globs, ReadGlobs(asked, "exclude_globs"));
  wish.leave = asked.value("leave", std::vector<std::string>());
  wish.digest = asked.value("digest", "");
  wish.allow_triggers = asked.value("allow_triggers", false);
  wish.project = question.value("project", "");
  wish.home = question.value("home", "");
  for (const std::string& path : question.value("guarded", std::vector<std::string>())) {
    auto decoded = change::FromBase64(path);
    if (!decoded) return Fail(Code::kInternal, "read question: a path is damaged");
    wish.moved.push_back(std::move(*decoded));
  }
  wish.keep_ours = asked.value("ours", std::vector<std::string>());
  wish.take_theirs = asked.value("theirs", std::vector<std::string>());
  wish.texts = asked.value("texts", std::map<std::string, std::string>());
  wish.with_texts = asked.value("with_texts", false);
  wish.with_noise = asked.value("with_noise", false);
  wish.to = asked.value("to", "");
  wish.since_ns = question.value("since_ns", int64_t{0});
  wish.ancestors = question.value("ancestors", std::map<std::string, int64_t>());
  wish.clock_back_ns = question.value("clock_back_ns", int64_t{0});
  wish.one_owner = question.value("one_owner", false);
  wish.others = question.value("others", false);
  return wish;
}

// Finds the caller's ids and the project's owner.
Status FindCaller(Wish& wish) {
  if (struct stat info; stat((wish.to.empty() ? wish.project : wish.to).c_str(), &info) == 0)
    wish.project_uid = info.st_uid;
  wish.uid = geteuid();
  wish.gid = getegid();
  wish.groups.resize(static_cast<size_t>(std::max(getgroups(0, nullptr), 0)));
  if (getgroups(static_cast<int>(wish.groups.size()), wish.groups.data()) < 0)
    return Fail(Code::kInternal, "read groups: the kernel does not tell");
  wish.root = !wish.one_owner && geteuid() == 0;
  return {};
}

// nullopt: another promotion is running while this sandbox is frozen. cloched thaws it and asks
// again.
Result<std::optional<Store>> OpenStore(const nlohmann::json& question) {
  const std::string home = question.value("home", "");
  if (question.value("frozen", false)) return Store::OpenIfFree(home);
  ASSIGN_OR_RETURN(Store store, Store::Open(home));
  return std::optional(std::move(store));
}

// Sets `changes` if they are part of the answer.
Result<Json> AnswerPromote(const nlohmann::json& question, const nlohmann::json& asked,
                           std::optional<std::vector<std::string>>& changes) {
  std::string bytes;
  if (sys::ReadAll(kLayoutFd, bytes, size_t{1} << 30) < 0)
    return Fail(Code::kInternal, "read layout: no descriptor");
  ASSIGN_OR_RETURN(StateLayout layout, DecodeLayout(bytes));
  layout.service_data = question.value("service_data", std::vector<std::string>());
  ASSIGN_OR_RETURN(Wish wish, ReadWish(question, asked));
  CLOCHE_TRY(FindCaller(wish));
  // The pinned text from the daemon's record, from when the sandbox was made.
  const std::string pinned = question.value("project_file", "");
  ASSIGN_OR_RETURN(const ProjectRules rules, ProjectRules::Read(pinned, wish.project));
  wish.rules = &rules;
  const bool dry_run = asked.value("dry_run", false);
  ASSIGN_OR_RETURN(std::optional<Store> opened, OpenStore(question));
  if (!opened) return Json{{"busy", true}};
  Store& store = *opened;
  const std::vector<Recovered> recovered = Recover(store, wish.root);
  if (!dry_run) {
    Prune(store, NowMs());
    Sweep(store.directory(), kSweptInPassing);  // bounded, because the sandbox is frozen meanwhile
  }
  BirthFiles base(ReadNote(question));
  base.Prepare();
  ASSIGN_OR_RETURN(const std::vector<SideStoreDirectory> side_stores,
                   Confine(layout, wish, store, dry_run));
  if (!dry_run) {
    MeasureLag(store.directory(), wish.lags_ns);
    for (const SideStoreDirectory& each : side_stores)
      MeasureLag(each.directory.get(), wish.lags_ns);
  }
  auto promoted = Promote(store, layout, wish, base, question.value("sandbox", ""), dry_run);
  for (const SideStoreDirectory& each : side_stores) DropIfEmpty(each);
  if (!promoted) return std::unexpected(promoted.error());
  PromotionResult& outcome = *promoted;
  if (!outcome.takes.empty()) return Json{{"takes", Outline(outcome.takes)}};
  if (std::string note = ProjectFileNote(wish.project, pinned, question.value("sandbox", ""));
      !note.empty())
    outcome.notes.push_back(std::move(note));
  Json json = ResultJson(outcome, dry_run);
  json["recovered"] = RecoveredJson(recovered);
  changes = std::move(outcome.changes);
  return json;
}

Result<Json> Answer(std::optional<std::vector<std::string>>& changes) {
  std::string text;
  if (sys::ReadAll(kQuestionFd, text, 64 << 20) < 0)
    return Fail(Code::kInternal, "read question: no descriptor");
  const auto question = nlohmann::json::parse(text, nullptr, false);
  if (!question.is_object()) return Fail(Code::kInternal, "read question: not an object");
  if (question.value("note", false))
    return TakeNote(question.value("project", ""), question.value("home", ""),
                    question.value("since_ns", int64_t{0}));
  if (!question.contains("promote") || !question["promote"].is_object())
    return Fail(Code::kInternal, "read question: not a promotion");
  return AnswerPromote(question, question["promote"], changes);
}

// After a second, reports progress as lines of {"progress":{"done":N,"of":M}}.
void TellProgress() {
  on_progress = [begun_ms = int64_t{0}, told_ms = int64_t{0}](size_t done, size_t of) mutable {
    constexpr int64_t kFirstMs = 1000, kEachMs = 200;
    const auto now_ms = static_cast<int64_t>(sys::MonotonicMicros() / 1000);
    if (begun_ms == 0) begun_ms = now_ms;
    if (now_ms - begun_ms < kFirstMs || now_ms - told_ms < kEachMs) return;
    told_ms = now_ms;
    (void)sys::WriteWhole(STDOUT_FILENO, Dump({{"progress", {{"done", done}, {"of", of}}}}));
  };
}

Result<Json> List(const std::string& home) {
  SweepLater(home);
  TellProgress();
  CLOCHE_TRY(ConfineCalls());
  ASSIGN_OR_RETURN(Store store, Store::Open(home));
  const std::vector<Recovered> recovered = Recover(store, geteuid() == 0);
  ASSIGN_OR_RETURN(const std::vector<Promotion> all, ListPromotions(store));
  Json list = Json::array();
  for (const Promotion& each : all) list.push_back(PromotionJson(each));
  return Json{{"promotions", std::move(list)}, {"recovered", RecoveredJson(recovered)}};
}

Result<Json> UndoOne(const std::string& home, const std::string& id,
                     const std::vector<std::string>& force, bool flattened) {
  SweepLater(home);
  TellProgress();
  CLOCHE_TRY(ConfineCalls());
  ASSIGN_OR_RETURN(Store store, Store::Open(home));
  const std::vector<Recovered> recovered = Recover(store, geteuid() == 0);
  std::vector<std::string> moved, takes;
  ASSIGN_OR_RETURN(const Promotion promotion,
                   Undo(store, id, geteuid() == 0, force, moved, flattened ? nullptr : &takes));
  Json json = PromotionJson(promotion);
  json["takes"] = Outline(std::move(takes));
  json["moved"] = moved;
  json["recovered"] = RecoveredJson(recovered);
  return json;
}

int Say(int fd, const Result<Json>& result) {
  (void)sys::WriteWhole(fd, Dump(result ? *result : Json{{"error", ErrorJson(result.error())}}));
  return 0;
}

// There may be a million changes. Each gets its own line, so that readers need not parse them all
// at once.
int SayWithChanges(int fd, const Json& json, const std::vector<std::string>& changes) {
  std::string text = Dump(json);
  text.resize(text.size() - 2);  // "}\n"
  text += R"(,"changes":[)";
  const char* separator = "\n";
  for (const std::string& each : changes) {
    text += separator;
    text += each;
    separator = ",\n";
    if (text.size() < kPiece) continue;
    if (!sys::WriteWhole(fd, text)) return 0;  // the reader has gone
    text.clear();
  }
  (void)sys::WriteWhole(fd, text + "\n]}\n");
  return 0;
}

}  // namespace

int Main(int argc, char** argv) {
  // This is a transaction: it continues even if the caller goes away.
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(ignored, SIG_IGN);
  IgnoreLeaseBreaks();
  if (argc == 3 && strcmp(argv[1], "list") == 0) return Say(STDOUT_FILENO, List(argv[2]));
  const bool flattened = argc >= 3 && strcmp(argv[2], "--flattened") == 0;
  if (const int at = flattened ? 3 : 2; argc >= at + 2 && strcmp(argv[1], "undo") == 0)
    return Say(STDOUT_FILENO,
               UndoOne(argv[at], argv[at + 1], {argv + at + 2, argv + argc}, flattened));
  if (argc != 1) {
    (void)sys::WriteWhole(
        STDERR_FILENO, "cloche-promote is started by cloche; use cloche promote and cloche undo\n");
    return 2;
  }
  sys::SetDumpable(false);
  sys::RaiseFileLimit();
  std::optional<std::vector<std::string>> changes;
  const Result<Json> answer = Answer(changes);
  return answer && changes ? SayWithChanges(kAnswerFd, *answer, *changes) : Say(kAnswerFd, answer);
}

}  // namespace cloche::apply

int main(int argc, char** argv) { return cloche::apply::Main(argc, argv); }
