#include "change/apply/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "change/model/base64.h"
#include "sys/file.h"

namespace cloche::apply {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMostLine = size_t{1} << 30;
constexpr size_t kPiece = 1 << 20;  // written at once
constexpr int kFormat = 1, kWithSideStores = 2;

Identity IdentityFrom(const Json& json) {
  if (!json.is_array() || json.size() != 3) return {};
  return {json[0].get<uint64_t>(), json[1].get<uint64_t>(), json[2].get<int64_t>()};
}

DirectoryStatus StatusFrom(const Json& json) {
  if (!json.is_array() || json.size() != 4) return {};
  return {json[0].get<uint32_t>(),
          json[1].get<uint32_t>(),
          json[2].get<uint32_t>(),
          json[3].get<int64_t>(),
          {}};
}

std::string Text(const Identity& of) {
  return fmt::format("[{},{},{}]", of.device, of.inode, of.changed_ns);
}

Mark MarkFrom(const Json& json) {
  if (!json.is_array() || json.size() != 4) return {};
  return {json[0].get<uint64_t>(), json[1].get<uint64_t>(), json[2].get<int64_t>(),
          json[3].get<uint64_t>()};
}

std::string Text(const Mark& of) {
  return fmt::format("[{},{},{},{}]", of.device, of.inode, of.born_ns, of.file_system);
}

std::string Text(const DirectoryStatus& of) {
  return fmt::format("[{},{},{},{}]", of.mode, of.uid, of.gid, of.modified_ns);
}

std::string Text(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

std::string Text(const std::map<std::string, std::string>& attributes) {
  std::string text = "{";
  for (const auto& [name, value] : attributes)
    text += fmt::format("{}\"{}\":\"{}\"", text.size() > 1 ? "," : "", change::ToBase64(name),
                        change::ToBase64(value));
  return text + "}";
}

// Every line of a step begins like this, so that a reader can skip it.
constexpr std::string_view kStep = "{\"step\":", kParent = "{\"parent\":", kLeft = "{\"settled\":";

// Paths are arbitrary bytes, so they are always base64.
void AddStep(std::string& text, const Step& step) {
  fmt::format_to(std::back_inserter(text),
                 R"({}{},"kind":{},"directory":{},"target":"{}","path":"{}")"
                 R"(,"before":{},"staged":{})",
                 kStep, step.number, static_cast<int>(step.kind), step.directory,
                 change::ToBase64(step.target), change::ToBase64(step.path), Text(step.before),
                 Text(step.prepared));
  if (step.before.exists() && step.before_changed_ns != step.before.changed_ns)
    fmt::format_to(std::back_inserter(text), R"(,"since":{})", step.before_changed_ns);
  if (step.side_store != 0)
    fmt::format_to(std::back_inserter(text), R"(,"annex":{},"born":{})", step.side_store,
                   step.before_born_ns);
  if (!step.directory && step.prepared.exists())
    fmt::format_to(std::back_inserter(text), R"(,"content":[{},{}])", step.prepared_modified_ns,
                   step.prepared_size);
  const StepDetails& details = step.details();
  if (!details.before_merged_from.empty())
    fmt::format_to(std::back_inserter(text), R"(,"before_merged_from":"{}")",
                   details.before_merged_from);
  if (!details.merged_from.empty())
    fmt::format_to(std::back_inserter(text), R"(,"merged_from":"{}")", details.merged_from);
  if (step.kind == StepKind::kSetDir)
    fmt::format_to(std::back_inserter(text), R"(,"old":{},"new":{})", Text(details.old_status),
                   Text(details.new_status));
  const auto &old = details.old_status.attributes, &now = details.new_status.attributes;
  if (!old.empty() || !now.empty())
    fmt::format_to(std::back_inserter(text), R"(,"old_attributes":{},"new_attributes":{})",
                   Text(old), Text(now));
  text += "}\n";
}

void AddParent(std::string& text, const Parent& parent) {
  fmt::format_to(std::back_inserter(text),
                 R"({}"{}","target":"{}","before":{},"modified":{}}})"
                 "\n",
                 kParent, change::ToBase64(parent.path), change::ToBase64(parent.target),
                 Text(parent.before), parent.modified_ns);
}

void AddFilesystemId(std::string& text, const FilesystemId& filesystem_id) {
  fmt::format_to(std::back_inserter(text),
                 R"({{"witness":{},"at":{},"target":"{}","mark":{}}})"
                 "\n",
                 static_cast<int>(filesystem_id.kind), filesystem_id.place,
                 change::ToBase64(filesystem_id.target), Text(filesystem_id.mark));
}

Result<std::string> Bytes(const Json& json, const char* key) {
  auto bytes = change::FromBase64(json.value(key, ""));
  if (!bytes) return Fail(Code::kUnavailable, "read journal: a path is damaged");
  return *bytes;
}

Status TakeAttributes(const Json& line, const char* key,
                      std::map<std::string, std::string>& attributes) {
  const Json json = line.value(key, Json::object());
  for (const auto& [name, value] : json.items()) {
    const auto plain = change::FromBase64(name);
    const auto bytes =
        value.is_string() ? change::FromBase64(value.get<std::string>()) : std::nullopt;
    if (!plain || !bytes) return Fail(Code::kUnavailable, "read journal: an attribute is damaged");
    attributes[*plain] = *bytes;
  }
  return {};
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
  step.prepared = IdentityFrom(json.value("staged", Json()));
  step.directory = json.value("directory", false);
  step.side_store = json.value("annex", uint32_t{0});
  step.before_born_ns = json.value("born", int64_t{0});
  if (const auto found = json.find("content");
      found != json.end() && found->is_array() && found->size() == 2) {
    step.prepared_modified_ns = (*found)[0].get<int64_t>();
    step.prepared_size = (*found)[1].get<uint64_t>();
  }
  step.before_changed_ns = json.value("since", step.before.changed_ns);
  StepDetails details;
  details.before_merged_from = json.value("before_merged_from", "");
  details.merged_from = json.value("merged_from", "");
  if (step.kind == StepKind::kSetDir) {
    details.old_status = StatusFrom(json.value("old", Json()));
    details.new_status = StatusFrom(json.value("new", Json()));
    CLOCHE_TRY(TakeAttributes(json, "old_attributes", details.old_status.attributes));
    CLOCHE_TRY(TakeAttributes(json, "new_attributes", details.new_status.attributes));
  }
  if (step.kind == StepKind::kSetDir || !details.merged_from.empty() ||
      !details.before_merged_from.empty())
    step.few = std::make_shared<const StepDetails>(std::move(details));
  return step;
}

constexpr const char* kStates[] = {"planned", "applying", "done",   "reverted",
                                   "undoing", "undone",   "applied"};

Status Take(const Json& line, Promotion& promotion) {
  if (line.contains("promotion")) {
    if (line["promotion"] != kFormat && line["promotion"] != kWithSideStores)
      return Fail(Code::kUnavailable, "read journal: it is of a later version of Cloche",
                  "use that version");
    promotion.sandbox = line.value("sandbox", "");
    promotion.project = line.value("project", "");
    promotion.digest = line.value("digest", "");
    promotion.created = line.value("created", "");
  } else if (line.contains("step")) {
    ASSIGN_OR_RETURN(Step step, StepFrom(line));
    promotion.steps.push_back(std::move(step));
  } else if (line.contains("place")) {
    SideStore side_store;
    ASSIGN_OR_RETURN(side_store.target, Bytes(line, "target"));
    ASSIGN_OR_RETURN(side_store.place, Bytes(line, "place"));
    side_store.mark = MarkFrom(line.value("mark", Json()));
    promotion.side_stores.push_back(std::move(side_store));
  } else if (line.contains("witness")) {
    FilesystemId filesystem_id;
    const int kind = line.value("witness", -1);
    if (kind < 0 || kind > static_cast<int>(FilesystemIdKind::kFile))
      return Fail(Code::kUnavailable, "read journal: an unknown filesystem id");
    filesystem_id.kind = static_cast<FilesystemIdKind>(kind);
    filesystem_id.place = line.value("at", uint32_t{0});
    ASSIGN_OR_RETURN(filesystem_id.target, Bytes(line, "target"));
    filesystem_id.mark = MarkFrom(line.value("mark", Json()));
    promotion.filesystem_ids.push_back(std::move(filesystem_id));
  } else if (line.contains("parent")) {
    Parent parent;
    ASSIGN_OR_RETURN(parent.path, Bytes(line, "parent"));
    ASSIGN_OR_RETURN(parent.target, Bytes(line, "target"));
    parent.before = IdentityFrom(line.value("before", Json()));
    parent.modified_ns = line.value("modified", int64_t{0});
    promotion.parents.push_back(std::move(parent));
  } else if (line.contains("force")) {
    for (Step& step : promotion.steps) {
      if (step.number != line["force"]) continue;
      step.forced = true;
      step.prepared = IdentityFrom(line.value("staged", Json()));
    }
  } else if (line.contains("settled")) {
    promotion.left_ns = line["settled"].get<std::vector<int64_t>>();
    promotion.parents_left_ns = line.value("parents", std::vector<int64_t>());
    promotion.kept_settled_ns = line.value("kept", std::vector<int64_t>());
    promotion.linked_settled_ns.clear();
    for (const auto& [number, changed_ns] :
         line.value("linked", std::vector<std::pair<uint64_t, int64_t>>()))
      promotion.linked_settled_ns[number] = changed_ns;
  } else if (line.contains("state")) {
    for (size_t i = 0; i < std::size(kStates); ++i)
      if (line["state"] == kStates[i]) promotion.state = static_cast<PromotionState>(i);
    promotion.state_since_ns = line.value("at", int64_t{0});
  }
  return {};
}

Status TakeLine(std::string_view text, bool whole, Promotion& promotion) {
  const bool step = text.starts_with(kStep);
  if (step) ++promotion.step_count;
  if (!whole && (step || text.starts_with(kParent) || text.starts_with(kLeft))) return {};
  const Json line = Json::parse(text, nullptr, false);
  return line.is_object() ? Take(line, promotion) : Status();
}

Result<Promotion> ReadLines(int directory, std::string id, bool whole) {
  const auto failed = [&](int error) {
    return Fail(error == ENOENT ? Code::kNotFound : Code::kUnavailable,
                fmt::format("read journal of {}: {}", id, strerror(error)));
  };
  const sys::Fd file(openat(directory, kJournalName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return failed(errno);
  Promotion promotion;
  promotion.id = id;
  std::string text;  // an incomplete last line is dropped: it was never acknowledged
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t size = read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(errno);
    if (size == 0) break;
    size_t searched = text.size(), at = 0;
    text.append(piece.data(), static_cast<size_t>(size));
    for (size_t end; (end = text.find('\n', searched)) != std::string::npos;
         at = searched = end + 1)
      CLOCHE_TRY(TakeLine(std::string_view(text).substr(at, end - at), whole, promotion));
    text.erase(0, at);
    if (text.size() > kMostLine) return failed(E2BIG);
  }
  for (const Step& step : promotion.steps)
    if (step.side_store > promotion.side_stores.size())
      return Fail(Code::kUnavailable, "read journal: a step is nowhere");
  for (const FilesystemId& filesystem_id : promotion.filesystem_ids)
    if (filesystem_id.place > promotion.side_stores.size())
      return Fail(Code::kUnavailable, "read journal: a filesystem id without a place");
  return promotion;
}

}  // namespace

const StepDetails& Step::details() const {
  static const StepDetails none;
  return few ? *few : none;
}

const char* StateName(PromotionState state) { return kStates[static_cast<size_t>(state)]; }

Result<Journal> Journal::Create(int directory) {
  Journal journal;
  journal.file_ = sys::Fd(
      openat(directory, kJournalName, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!journal.file_.valid())
    return Fail(Code::kUnavailable, fmt::format("make journal: {}", strerror(errno)));
  return journal;
}

Result<Journal> Journal::Reopen(int directory) {
  Journal journal;
  journal.file_ =
      sys::Fd(openat(directory, kJournalName, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!journal.file_.valid())
    return Fail(Code::kUnavailable, fmt::format("open journal: {}", strerror(errno)));
  // Ends a line that a crash cut off.
  CLOCHE_TRY(journal.Write("\n"));
  return journal;
}

Result<Promotion> Journal::Read(int directory, std::string id) {
  return ReadLines(directory, std::move(id), true);
}

Result<Promotion> Journal::ReadHead(int directory, std::string id) {
  return ReadLines(directory, std::move(id), false);
}

Status Journal::Write(const std::string& text) {
  if (sys::WriteWhole(file_.get(), text)) return {};
  return Fail(errno == ENOSPC || errno == EDQUOT ? Code::kExhausted : Code::kUnavailable,
              fmt::format("write journal: {}", strerror(errno)));
}

Status Journal::WritePlan(const Promotion& promotion) {
  std::string text = Json{{"promotion", promotion.side_stores.empty() ? kFormat : kWithSideStores},
                          {"id", promotion.id},
                          {"sandbox", promotion.sandbox},
                          {"project", promotion.project},
                          {"digest", promotion.digest},
                          {"created", promotion.created}}
                         .dump() +
                     "\n";
  const auto flush = [&](size_t when) -> Status {
    if (text.size() < when) return {};
    CLOCHE_TRY(Write(text));
    text.clear();
    return {};
  };
  for (const FilesystemId& each : promotion.filesystem_ids) AddFilesystemId(text, each);
  for (const Step& step : promotion.steps) {
    AddStep(text, step);
    CLOCHE_TRY(flush(kPiece));
  }
  for (const Parent& parent : promotion.parents) {
    AddParent(text, parent);
    CLOCHE_TRY(flush(kPiece));
  }
  CLOCHE_TRY(flush(0));
  return WriteState(PromotionState::kApplying);
}

Status Journal::WriteSideStore(const SideStore& side_store) {
  return Write(fmt::format(R"({{"place":"{}","target":"{}","mark":{}}})"
                           "\n",
                           change::ToBase64(side_store.place), change::ToBase64(side_store.target),
                           Text(side_store.mark)));
}

Status Journal::WriteFilesystemIds(const std::vector<FilesystemId>& filesystem_ids) {
  std::string text;
  for (const FilesystemId& each : filesystem_ids) AddFilesystemId(text, each);
  return Write(text);
}

Status Journal::WriteLeft(const Promotion& promotion) {
  std::string linked;
  for (const auto& [number, changed_ns] : promotion.linked_settled_ns)
    linked += fmt::format("{}[{},{}]", linked.empty() ? "" : ",", number, changed_ns);
  return Write(fmt::format("{}{},\"parents\":{},\"kept\":{}{}}}\n", kLeft, Text(promotion.left_ns),
                           Text(promotion.parents_left_ns), Text(promotion.kept_settled_ns),
                           linked.empty() ? "" : ",\"linked\":[" + linked + "]"));
}

Status Journal::WriteForced(const Step& step) {
  return Write(fmt::format(R"({{"force":{},"staged":{}}})"
                           "\n",
                           step.number, Text(step.prepared)));
}

Status Journal::WriteState(PromotionState state) {
  return Write(fmt::format("{{\"state\":\"{}\",\"at\":{}}}\n", StateName(state), sys::RealNanos()));
}

Status Journal::Sync() {
  if (fdatasync(file_.get()) < 0)
    return Fail(Code::kUnavailable, fmt::format("sync journal: {}", strerror(errno)));
  return {};
}

}  // namespace cloche::apply
