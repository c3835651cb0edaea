// cloche-diff: reports what a sandbox changed. cloche-spawn starts it with the caller's rights and
// only descriptors, because it reads content that an attacker wrote.
//   2  for errors
//   3  for the answer: NDJSON of docs/formats/changes.md, or a patch
//   4  the question, JSON from cloched
//   5  the layout, from cloche-spawn (src/base/state_layout.h)
#include <errno.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error_json.h"
#include "base/text.h"
#include "change/model/base64.h"
#include "change/model/digest.h"
#include "change/model/patch.h"
#include "change/model/summary.h"
#include "change/walk/compare.h"
#include "change/walk/merge.h"
#include "change/walk/stale.h"
#include "sys/file.h"
#include "sys/landlock.h"
#include "sys/process.h"

namespace cloche::walk {

constexpr int kAnswerFd = 3, kQuestionFd = 4, kLayoutFd = 5;

namespace {

constexpr size_t kFlushAt = 64 << 10;

struct Question {
  std::string sandbox;
  bool patch = false;
  bool stale = false;
  bool guard = false;  // with the full list of what both sides changed
  int64_t since_ns = 0;
  CompareOptions compare;
  std::string root = "/";          // for names in a patch
  std::vector<std::string> paths;  // only these and what is below; empty = all
  std::vector<std::string> service_data;
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
      if (size < 0) return false;  // the reader has gone
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
  if (!json.is_object()) return Fail(Code::kInternal, "read question: not valid JSON");
  Question question;
  question.sandbox = json.value("sandbox", "");
  question.patch = json.value("format", "json") == "patch";
  question.guard = json.value("guard", false);
  question.stale = json.value("format", "json") == "stale";
  question.since_ns = json.value("since_ns", int64_t{0});
  question.compare.lines = json.value("lines", false);
  question.compare.texts = question.patch;
  question.compare.one_owner = json.value("one_owner", false);
  question.compare.project = json.value("project", "");
  question.compare.home = json.value("home", "");
  question.root = json.value("root", "/");
  question.service_data = json.value("service_data", std::vector<std::string>());
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

// Whether a wanted path is, or may be, in this directory.
bool Touches(const Question& question, const std::string& directory) {
  if (Wanted(question, directory)) return true;
  for (const std::string& each : question.paths)
    if (each.starts_with(directory == "/" ? directory : directory + "/")) return true;
  return false;
}

nlohmann::ordered_json SummaryJson(const change::Summary& summary) {
  const auto counts = [](const change::Counts& of) {
    return nlohmann::ordered_json{{"added", of.added},
                                  {"modified", of.modified},
                                  {"deleted", of.deleted},
                                  {"renamed", of.renamed},
                                  {"lines_added", of.lines_added},
                                  {"lines_removed", of.lines_removed},
                                  {"bytes", of.bytes}};
  };
  nlohmann::ordered_json json = {{"total", counts(summary.Total())}};
  for (size_t i = 0; i < change::kGroups; ++i) {
    const auto group = static_cast<change::Group>(i);
    if (summary.Of(group).Changes() == 0) continue;
    const std::string name(change::GroupName(group));
    json[name.empty() ? "real" : name] = counts(summary.Of(group));
  }
  return json;
}

Result<std::optional<Entry>> NextWanted(const Question& question, MergedWalk& walk) {
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<Entry> entry, walk.Next());
    if (!entry || Wanted(question, entry->path) ||
        (!entry->old_path.empty() && Wanted(question, entry->old_path)))
      return entry;
  }
}

// How many of the requested directories could not be read, and the first of them.
struct Closed {
  uint64_t count = 0;
  std::string first;
};

Closed CountClosed(const Question& question, const Unreadable& unreadable) {
  Closed closed{unreadable.count - unreadable.paths.size(), ""};
  for (const std::string& path : unreadable.paths) {
    if (!Touches(question, path)) continue;
    ++closed.count;
    if (closed.first.empty()) closed.first = path;
  }
  return closed;
}

Status AnswerChanges(const Question& question, const StateLayout& layout) {
  Output output;
  change::ChangeSetDigest digest;
  change::Summary summary;
  uint64_t unreadable = 0;
  MergedWalk walk(layout, Renames::kBrief);
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Entry> entry, NextWanted(question, walk));
    if (!entry) break;
    ASSIGN_OR_RETURN(const std::optional<Compared> compared,
                     CompareEntry(*entry, question.compare));
    if (!compared) continue;
    const change::Change& change = compared->change;
    if (change.new_side && change.new_side->type == change::FileType::kFile &&
        !change.new_side->sha256)
      ++unreadable;
    else
      CLOCHE_TRY(digest.Add(change));
    summary.Add(change);
    if (!output.Write(change::EncodeJsonLine(change) + "\n")) return {};
  }
  unreadable += CountClosed(question, walk.unreadable()).count;
  nlohmann::ordered_json last = {{"summary", SummaryJson(summary)}};
  // A digest must cover everything, so there is none if something could not be read.
  last["summary"]["unreadable"] = unreadable;
  last["summary"]["sandbox"] = question.sandbox;
  last["summary"]["digest"] = nullptr;
  if (unreadable == 0) {
    ASSIGN_OR_RETURN(last["summary"]["digest"], digest.Finish());
  }
  output.Write(last.dump() + "\n");
  output.Flush();
  return {};
}

// Reduces an entry to its deletion, or to its addition or change. A type change is both a deletion
// and an addition.
bool TakeHalf(Entry& entry, bool goes) {
  const auto type = [](const std::optional<LayerFile>& place) {
    return place ? place->info.st_mode & S_IFMT : 0;
  };
  const bool parts = entry.before && type(entry.before) != type(entry.after);
  if (goes) {
    if (!parts) return false;
    if (!entry.old_path.empty()) entry.path = entry.old_path;
    entry.after.reset();
  } else {
    if (!entry.after) return false;
    if (!parts) return true;
    entry.before.reset();
  }
  entry.old_path.clear();
  entry.implied = false;
  return true;
}

// A patch is applied from beginning to end, so deletions come first to make room.
Status AnswerPatch(const Question& question, const StateLayout& layout) {
  Output output;
  change::PatchOptions options;
  options.root = question.root;
  for (const bool goes : {true, false}) {
    MergedWalk walk(layout, Renames::kFiles);
    for (;;) {
      ASSIGN_OR_RETURN(std::optional<Entry> entry, NextWanted(question, walk));
      if (!entry) break;
      if (!TakeHalf(*entry, goes)) continue;
      ASSIGN_OR_RETURN(const std::optional<Compared> compared,
                       CompareEntry(*entry, question.compare));
      if (!compared) continue;
      const auto written =
          change::WritePatch(compared->change, compared->old_text, compared->new_text, options,
                             [&](std::string_view piece) { return output.Write(piece); });
      if (written == change::PatchResult::kStopped) return {};
    }
    // A patch can name an unreadable file, but the contents of an unreadable directory would be
    // missing.
    const Closed closed = CountClosed(question, walk.unreadable());
    if (closed.count > 0)
      return Fail(
          Code::kUnavailable,
          fmt::format("write patch: {} of its directories cannot be read, so it is not all{}",
                      closed.count,
                      closed.first.empty() ? "" : ": " + EscapeForTerminal(closed.first)),
          "make it readable inside (chmod u+rx), or name what the patch is to hold: "
          "cloche diff SANDBOX --patch PATH...");
  }
  output.Flush();
  return {};
}

Status AnswerStaleness(const Question& question, const StateLayout& layout) {
  ASSIGN_OR_RETURN(const Staleness stale, FindStaleness(layout, question.compare.project,
                                                        question.compare.home, question.since_ns));
  nlohmann::ordered_json json = {{"changed", stale.changed},
                                 {"paths", stale.paths},
                                 {"both", stale.both},
                                 {"both_paths", stale.both_paths},
                                 {"complete", stale.complete}};
  if (question.guard) {
    ASSIGN_OR_RETURN(const std::vector<std::string> both,
                     FindChangedByBoth(layout, question.since_ns));
    json["guarded"] = nlohmann::ordered_json::array();
    for (const std::string& path : both) json["guarded"].push_back(change::ToBase64(path));
  }
  Output output;
  output.Write(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  output.Flush();
  return {};
}

Status Main() {
  ASSIGN_OR_RETURN(const Question question, ReadQuestion());
  std::string bytes;
  if (sys::ReadAll(kLayoutFd, bytes, size_t{1} << 30) < 0)
    return Fail(Code::kInternal, "read layout: no descriptor");
  ASSIGN_OR_RETURN(StateLayout layout, DecodeLayout(bytes));
  layout.service_data = question.service_data;
  if (question.stale) return AnswerStaleness(question, layout);
  return question.patch ? AnswerPatch(question, layout) : AnswerChanges(question, layout);
}

}  // namespace
}  // namespace cloche::walk

// Exit status 0: the answer is complete.
int main() {
  using namespace cloche;
  // The caller, whose uid we have, must not reach our descriptors. Changing ids also cleared the
  // parent-death signal.
  sys::SetDumpable(false);
  sys::DieWithParent();
  sys::RaiseFileLimit();
  // The content may try to take us over: we start nothing and write only our answer.
  const sys::LandlockFailure refused = sys::EnterReadOnlyDomain();
  const Status status =
      refused.operation == nullptr
          ? walk::Main()
          : Status(Fail(Code::kUnavailable,
                        fmt::format("{}: {}", refused.operation, strerror(refused.error))));
  if (status) return 0;
  const std::string line =
      nlohmann::ordered_json{{"error", ErrorJson(status.error())}}.dump() + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  return 1;
}
