// cloche-diff: what a sandbox changed. Started by cloche-spawn with the rights of whoever asks, and
// nothing but descriptors: it reads content that an attacker wrote.
//   3  where the answer goes: NDJSON of docs/formats/changes.md, or a patch
//   4  what is asked, JSON from cloched
//   5  the layout, from cloche-spawn (src/base/state_layout.h)
#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error_json.h"
#include "diff/digest.h"
#include "diff/patch.h"
#include "diff/summary.h"
#include "differ/compare.h"
#include "differ/merge.h"
#include "differ/stale.h"
#include "sys/file.h"
#include "sys/landlock.h"
#include "sys/process.h"

namespace cloche::differ {

constexpr int kAnswerFd = 3, kQuestionFd = 4, kLayoutFd = 5;

namespace {

constexpr size_t kFlushAt = 64 << 10;

struct Question {
  std::string sandbox;
  bool patch = false;
  bool stale = false;
  int64_t since_ns = 0;
  CompareOptions compare;
  std::string root = "/";          // of names in a patch
  std::vector<std::string> paths;  // only these and what is below; none = all
};

class Output {
 public:
  bool Write(std::string_view text) {
    pending_ += text;
    return pending_.size() < kFlushAt || Flush();
  }
  bool Flush() {
    std::string_view rest = pending_;
    while (!rest.empty()) {
      const ssize_t size = write(kAnswerFd, rest.data(), rest.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return false;  // nobody reads any more
      rest.remove_prefix(static_cast<size_t>(size));
    }
    pending_.clear();
    return true;
  }

 private:
  std::string pending_;
};

Result<Question> ReadQuestion() {
  std::string text;
  if (sys::ReadAll(kQuestionFd, text, 16 << 20) < 0)
    return Fail(Code::kInternal, "read question: no descriptor");
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Fail(Code::kInternal, "read question: it is no JSON");
  Question question;
  question.sandbox = json.value("sandbox", "");
  question.patch = json.value("format", "json") == "patch";
  question.stale = json.value("format", "json") == "stale";
  question.since_ns = json.value("since_ns", int64_t{0});
  question.compare.lines = json.value("lines", false);
  question.compare.texts = question.patch;
  question.compare.one_owner = json.value("one_owner", false);
  question.compare.project = json.value("project", "");
  question.compare.home = json.value("home", "");
  question.root = json.value("root", "/");
  question.paths = json.value("paths", std::vector<std::string>());
  return question;
}

bool Wanted(const Question& question, const std::string& path) {
  if (question.paths.empty()) return true;
  for (const std::string& each : question.paths)
    if (path == each || each == "/" ||
        (path.starts_with(each) && path.size() > each.size() && path[each.size()] == '/'))
      return true;
  return false;
}

nlohmann::ordered_json SummaryJson(const diff::Summary& summary) {
  const auto counts = [](const diff::Counts& of) {
    return nlohmann::ordered_json{{"added", of.added},
                                  {"modified", of.modified},
                                  {"deleted", of.deleted},
                                  {"renamed", of.renamed},
                                  {"lines_added", of.lines_added},
                                  {"lines_removed", of.lines_removed},
                                  {"bytes", of.bytes}};
  };
  nlohmann::ordered_json json = {{"total", counts(summary.Total())}};
  for (size_t i = 0; i < diff::kGroups; ++i) {
    const auto group = static_cast<diff::Group>(i);
    if (summary.Of(group).Changes() == 0) continue;
    const std::string name(diff::GroupName(group));
    json[name.empty() ? "real" : name] = counts(summary.Of(group));
  }
  return json;
}

Status Answer(const Question& question, MergedWalk& walk) {
  Output output;
  diff::ChangeSetDigest digest;
  diff::Summary summary;
  uint64_t unreadable = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Entry> entry, walk.Next());
    if (!entry) break;
    if (!Wanted(question, entry->path) &&
        (entry->old_path.empty() || !Wanted(question, entry->old_path)))
      continue;
    ASSIGN_OR_RETURN(const std::optional<Compared> compared,
                     CompareEntry(*entry, question.compare));
    if (!compared) continue;
    const diff::Change& change = compared->change;
    if (change.new_side && change.new_side->type == diff::FileType::kFile &&
        !change.new_side->sha256)
      ++unreadable;
    else
      CLOCHE_TRY(digest.Add(change));
    summary.Add(change);
    bool wanted = true;
    if (question.patch) {
      diff::PatchOptions options;
      options.root = question.root;
      wanted = diff::WritePatch(change, compared->old_text, compared->new_text, options,
                                [&](std::string_view piece) { return output.Write(piece); }) !=
               diff::PatchResult::kStopped;
    } else {
      wanted = output.Write(diff::EncodeJsonLine(change) + "\n");
    }
    if (!wanted) return {};
  }
  // A file that cannot be read is named in a patch. A directory would be missing from it.
  if (question.patch && walk.unreadable() > 0)
    return Fail(Code::kUnavailable, "write patch: a directory cannot be read");
  unreadable += walk.unreadable();
  if (!question.patch) {
    nlohmann::ordered_json last = {{"summary", SummaryJson(summary)}};
    // What nobody could read is bound by no digest.
    last["summary"]["unreadable"] = unreadable;
    last["summary"]["sandbox"] = question.sandbox;
    last["summary"]["digest"] = nullptr;
    if (unreadable == 0) {
      ASSIGN_OR_RETURN(last["summary"]["digest"], digest.Finish());
    }
    output.Write(last.dump() + "\n");
  }
  output.Flush();
  return {};
}

Status AnswerStaleness(const Question& question, const StateLayout& layout) {
  ASSIGN_OR_RETURN(const Staleness stale, FindStaleness(layout, question.compare.project,
                                                        question.compare.home, question.since_ns));
  const nlohmann::ordered_json json = {{"changed", stale.changed},
                                       {"paths", stale.paths},
                                       {"both", stale.both},
                                       {"both_paths", stale.both_paths},
                                       {"complete", stale.complete}};
  Output output;
  output.Write(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  output.Flush();
  return {};
}

Status Main(bool& patch) {
  ASSIGN_OR_RETURN(const Question question, ReadQuestion());
  patch = question.patch;
  std::string bytes;
  if (sys::ReadAll(kLayoutFd, bytes, size_t{1} << 30) < 0)
    return Fail(Code::kInternal, "read layout: no descriptor");
  ASSIGN_OR_RETURN(const StateLayout layout, DecodeLayout(bytes));
  if (question.stale) return AnswerStaleness(question, layout);
  MergedWalk walk(layout, question.patch ? Renames::kFiles : Renames::kBrief);
  return Answer(question, walk);
}

}  // namespace
}  // namespace cloche::differ

// Exit status 0: the answer is whole.
int main() {
  using namespace cloche;
  // Whoever asks may not reach in for our descriptors; changing ids made us outlive spawn.
  sys::SetDumpable(false);
  sys::DieWithParent();
  sys::RaiseFileLimit();
  bool patch = false;
  // What it reads may try to use it. It starts nothing, writes nothing but its answer.
  const sys::LandlockFailure refused = sys::EnterReadOnlyDomain();
  const Status status =
      refused.operation == nullptr
          ? differ::Main(patch)
          : Status(Fail(Code::kUnavailable,
                        fmt::format("{}: {}", refused.operation, strerror(refused.error))));
  if (status) return 0;
  const std::string line =
      nlohmann::ordered_json{{"error", ErrorJson(status.error())}}.dump() + "\n";
  if (!patch) (void)!write(differ::kAnswerFd, line.data(), line.size());
  return 1;
}
