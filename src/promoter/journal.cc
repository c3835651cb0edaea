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
constexpr size_t kMostLine = size_t{1} << 30;
constexpr size_t kPiece = 1 << 20;  // written at once
constexpr int kFormat = 1, kWithAnnexes = 2;

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
    text += fmt::format("{}\"{}\":\"{}\"", text.size() > 1 ? "," : "", diff::ToBase64(name),
                        diff::ToBase64(value));
  return text + "}";
}

// Every line of a step begins like this, so that a reader can pass over it.
constexpr std::string_view kStep = "{\"step\":", kParent = "{\"parent\":",
                           kSettled = "{\"settled\":";

// Paths are bytes: base64, whatever they are.
void AddStep(std::string& text, const Step& step) {
  fmt::format_to(std::back_inserter(text),
                 R"({}{},"kind":{},"directory":{},"target":"{}","path":"{}")"
                 R"(,"before":{},"staged":{})",
                 kStep, step.number, static_cast<int>(step.kind), step.directory,
                 diff::ToBase64(step.target), diff::ToBase64(step.path), Text(step.before),
                 Text(step.staged));
  if (step.before.exists() && step.before_changed_ns != step.before.changed_ns)
    fmt::format_to(std::back_inserter(text), R"(,"since":{})", step.before_changed_ns);
  if (step.annex != 0)
    fmt::format_to(std::back_inserter(text), R"(,"annex":{},"born":{})", step.annex,
                   step.before_born_ns);
  if (!step.directory && step.staged.exists())
    fmt::format_to(std::back_inserter(text), R"(,"content":[{},{}])", step.staged_modified_ns,
                   step.staged_size);
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
                 kParent, diff::ToBase64(parent.path), diff::ToBase64(parent.target),
                 Text(parent.before), parent.modified_ns);
}

void AddWitness(std::string& text, const Witness& witness) {
  fmt::format_to(std::back_inserter(text),
                 R"({{"witness":{},"at":{},"target":"{}","mark":{}}})"
                 "\n",
                 static_cast<int>(witness.kind), witness.place, diff::ToBase64(witness.target),
                 Text(witness.mark));
}

Result<std::string> Bytes(const Json& json, const char* key) {
  auto bytes = diff::FromBase64(json.value(key, ""));
  if (!bytes) return Fail(Code::kUnavailable, "read journal: a path is damaged");
  return *bytes;
}

Status TakeAttributes(const Json& line, const char* key,
                      std::map<std::string, std::string>& attributes) {
  const Json json = line.value(key, Json::object());
  for (const auto& [name, value] : json.items()) {
    const auto plain = diff::FromBase64(name);
    const auto bytes =
        value.is_string() ? diff::FromBase64(value.get<std::string>()) : std::nullopt;
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
  step.staged = IdentityFrom(json.value("staged", Json()));
  step.directory = json.value("directory", false);
  step.annex = json.value("annex", uint32_t{0});
  step.before_born_ns = json.value("born", int64_t{0});
  if (const auto found = json.find("content");
      found != json.end() && found->is_array() && found->size() == 2) {
    step.staged_modified_ns = (*found)[0].get<int64_t>();
    step.staged_size = (*found)[1].get<uint64_t>();
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
    if (line["promotion"] != kFormat && line["promotion"] != kWithAnnexes)
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
    Annex annex;
    ASSIGN_OR_RETURN(annex.target, Bytes(line, "target"));
    ASSIGN_OR_RETURN(annex.place, Bytes(line, "place"));
    annex.mark = MarkFrom(line.value("mark", Json()));
    promotion.annexes.push_back(std::move(annex));
  } else if (line.contains("witness")) {
    Witness witness;
    const int kind = line.value("witness", -1);
    if (kind < 0 || kind > static_cast<int>(WitnessKind::kFile))
      return Fail(Code::kUnavailable, "read journal: an unknown witness");
    witness.kind = static_cast<WitnessKind>(kind);
    witness.place = line.value("at", uint32_t{0});
    ASSIGN_OR_RETURN(witness.target, Bytes(line, "target"));
    witness.mark = MarkFrom(line.value("mark", Json()));
    promotion.witnesses.push_back(std::move(witness));
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
      step.staged = IdentityFrom(line.value("staged", Json()));
    }
  } else if (line.contains("settled")) {
    promotion.settled_ns = line["settled"].get<std::vector<int64_t>>();
    promotion.parents_settled_ns = line.value("parents", std::vector<int64_t>());
    promotion.kept_settled_ns = line.value("kept", std::vector<int64_t>());
    promotion.linked_settled_ns.clear();
    for (const auto& [number, changed_ns] :
         line.value("linked", std::vector<std::pair<uint64_t, int64_t>>()))
      promotion.linked_settled_ns[number] = changed_ns;
  } else if (line.contains("state")) {
    for (size_t i = 0; i < std::size(kStates); ++i)
      if (line["state"] == kStates[i]) promotion.state = static_cast<PromotionState>(i);
  }
  return {};
}

Status TakeLine(std::string_view text, bool whole, Promotion& promotion) {
  const bool step = text.starts_with(kStep);
  if (step) ++promotion.step_count;
  if (!whole && (step || text.starts_with(kParent) || text.starts_with(kSettled))) return {};
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
  std::string text;  // what is left over is cut off: it was never acknowledged
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
    if (step.annex > promotion.annexes.size())
      return Fail(Code::kUnavailable, "read journal: a step is nowhere");
  for (const Witness& witness : promotion.witnesses)
    if (witness.place > promotion.annexes.size())
      return Fail(Code::kUnavailable, "read journal: a witness is nowhere");
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
  // A line that a crash cut off ends here.
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
  std::string text = Json{{"promotion", promotion.annexes.empty() ? kFormat : kWithAnnexes},
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
  for (const Witness& each : promotion.witnesses) AddWitness(text, each);
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

Status Journal::WriteAnnex(const Annex& annex) {
  return Write(fmt::format(R"({{"place":"{}","target":"{}","mark":{}}})"
                           "\n",
                           diff::ToBase64(annex.place), diff::ToBase64(annex.target),
                           Text(annex.mark)));
}

Status Journal::WriteWitnesses(const std::vector<Witness>& witnesses) {
  std::string text;
  for (const Witness& each : witnesses) AddWitness(text, each);
  return Write(text);
}

Status Journal::WriteSettled(const Promotion& promotion) {
  std::string linked;
  for (const auto& [number, changed_ns] : promotion.linked_settled_ns)
    linked += fmt::format("{}[{},{}]", linked.empty() ? "" : ",", number, changed_ns);
  return Write(fmt::format("{}{},\"parents\":{},\"kept\":{}{}}}\n", kSettled,
                           Text(promotion.settled_ns), Text(promotion.parents_settled_ns),
                           Text(promotion.kept_settled_ns),
                           linked.empty() ? "" : ",\"linked\":[" + linked + "]"));
}

Status Journal::WriteForced(const Step& step) {
  return Write(fmt::format(R"({{"force":{},"staged":{}}})"
                           "\n",
                           step.number, Text(step.staged)));
}

Status Journal::WriteState(PromotionState state) {
  return Write(fmt::format("{{\"state\":\"{}\"}}\n", StateName(state)));
}

Status Journal::Sync() {
  if (fdatasync(file_.get()) < 0)
    return Fail(Code::kUnavailable, fmt::format("sync journal: {}", strerror(errno)));
  return {};
}

}  // namespace cloche::promoter
