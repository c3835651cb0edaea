#include "promoter/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "diff/base64.h"
#include "sys/file.h"

namespace cloche::promoter {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMostBytes = size_t{4} << 30;
constexpr int kFormat = 1;
constexpr const char* kName = "journal";

Json IdentityJson(const Identity& of) { return Json::array({of.device, of.inode, of.changed_ns}); }

Identity IdentityFrom(const Json& json) {
  if (!json.is_array() || json.size() != 3) return {};
  return {json[0].get<uint64_t>(), json[1].get<uint64_t>(), json[2].get<int64_t>()};
}

Json StatusJson(const DirectoryStatus& of) {
  return Json::array({of.mode, of.uid, of.gid, of.modified_ns});
}

DirectoryStatus StatusFrom(const Json& json) {
  if (!json.is_array() || json.size() != 4) return {};
  return {json[0].get<uint32_t>(), json[1].get<uint32_t>(), json[2].get<uint32_t>(),
          json[3].get<int64_t>()};
}

// Paths are bytes: base64, whatever they are.
Json StepJson(const Step& step) {
  Json json{{"step", step.number},
            {"kind", static_cast<int>(step.kind)},
            {"directory", step.directory},
            {"target", diff::ToBase64(step.target)},
            {"path", diff::ToBase64(step.path)},
            {"before", IdentityJson(step.before)},
            {"staged", IdentityJson(step.staged)},
            {"old", StatusJson(step.old_status)},
            {"new", StatusJson(step.new_status)}};
  if (!step.merged_from.empty()) json["merged_from"] = step.merged_from;
  return json;
}

Result<std::string> Bytes(const Json& json, const char* key) {
  auto bytes = diff::FromBase64(json.value(key, ""));
  if (!bytes) return Fail(Code::kUnavailable, "read journal: a path is damaged");
  return *bytes;
}

Result<Step> StepFrom(const Json& json) {
  Step step;
  step.number = json.value("step", uint64_t{0});
  const int kind = json.value("kind", -1);
  if (kind < 0 || kind > static_cast<int>(StepKind::kSetDir))
    return Fail(Code::kUnavailable, "read journal: an unknown step");
  step.kind = static_cast<StepKind>(kind);
  ASSIGN_OR_RETURN(step.target, Bytes(json, "target"));
  ASSIGN_OR_RETURN(step.path, Bytes(json, "path"));
  step.before = IdentityFrom(json.value("before", Json()));
  step.staged = IdentityFrom(json.value("staged", Json()));
  step.old_status = StatusFrom(json.value("old", Json()));
  step.new_status = StatusFrom(json.value("new", Json()));
  step.directory = json.value("directory", false);
  step.merged_from = json.value("merged_from", "");
  return step;
}

constexpr const char* kStates[] = {"planned", "applying", "done", "reverted", "undoing", "undone"};

Status Take(const Json& line, Promotion& promotion) {
  if (line.contains("promotion")) {
    if (line["promotion"] != kFormat)
      return Fail(Code::kUnavailable, "read journal: it is of a later version of Cloche",
                  "use that version");
    promotion.sandbox = line.value("sandbox", "");
    promotion.digest = line.value("digest", "");
    promotion.created = line.value("created", "");
  } else if (line.contains("step")) {
    ASSIGN_OR_RETURN(Step step, StepFrom(line));
    promotion.steps.push_back(std::move(step));
  } else if (line.contains("settled")) {
    promotion.settled_ns = line["settled"].get<std::vector<int64_t>>();
  } else if (line.contains("state")) {
    for (size_t i = 0; i < std::size(kStates); ++i)
      if (line["state"] == kStates[i]) promotion.state = static_cast<PromotionState>(i);
  }
  return {};
}

}  // namespace

const char* StateName(PromotionState state) { return kStates[static_cast<size_t>(state)]; }

Result<Journal> Journal::Create(int directory) {
  Journal journal;
  journal.file_ =
      sys::Fd(openat(directory, kName, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!journal.file_.valid())
    return Fail(Code::kUnavailable, fmt::format("make journal: {}", strerror(errno)));
  return journal;
}

Result<Journal> Journal::Reopen(int directory) {
  Journal journal;
  journal.file_ = sys::Fd(openat(directory, kName, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!journal.file_.valid())
    return Fail(Code::kUnavailable, fmt::format("open journal: {}", strerror(errno)));
  // A line that a crash cut off ends here.
  CLOCHE_TRY(journal.Write("\n"));
  return journal;
}

Result<Promotion> Journal::Read(int directory, std::string id) {
  std::string text;
  if (int error = sys::ReadFileAt(directory, kName, text, kMostBytes); error < 0)
    return Fail(error == -ENOENT ? Code::kNotFound : Code::kUnavailable,
                fmt::format("read journal of {}: {}", id, strerror(-error)));
  Promotion promotion;
  promotion.id = std::move(id);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // cut off: it was never acknowledged
    const Json line = Json::parse(text.begin() + static_cast<ptrdiff_t>(at),
                                  text.begin() + static_cast<ptrdiff_t>(end), nullptr, false);
    at = end + 1;
    if (!line.is_object()) continue;
    CLOCHE_TRY(Take(line, promotion));
  }
  return promotion;
}

Status Journal::Write(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t size = write(file_.get(), text.data() + at, text.size() - at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      return Fail(errno == ENOSPC || errno == EDQUOT ? Code::kExhausted : Code::kUnavailable,
                  fmt::format("write journal: {}", strerror(errno)), "nothing was applied");
    at += static_cast<size_t>(size);
  }
  return {};
}

Status Journal::WriteHead(const Promotion& promotion) {
  return Write(Json{{"promotion", kFormat},
                    {"id", promotion.id},
                    {"sandbox", promotion.sandbox},
                    {"digest", promotion.digest},
                    {"created", promotion.created}}
                   .dump() +
               "\n");
}

Status Journal::WriteSteps(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    text += StepJson(step).dump() + "\n";
    if (text.size() < 1 << 20) continue;
    CLOCHE_TRY(Write(text));
    text.clear();
  }
  return Write(text);
}

Status Journal::WriteSettled(const std::vector<int64_t>& settled_ns) {
  return Write(Json{{"settled", settled_ns}}.dump() + "\n");
}

Status Journal::WriteState(PromotionState state) {
  CLOCHE_TRY(Write(Json{{"state", StateName(state)}}.dump() + "\n"));
  if (fdatasync(file_.get()) < 0)
    return Fail(Code::kUnavailable, fmt::format("sync journal: {}", strerror(errno)));
  return {};
}

}  // namespace cloche::promoter
