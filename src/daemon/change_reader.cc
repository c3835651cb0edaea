#include "daemon/change_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <limits>
#include <utility>

#include "base/error_json.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

constexpr const char* kRefusal = R"({"error":)";
constexpr size_t kMostRefusal = 4 << 20;
constexpr int kMostFlattened = 3;  // its processes may go on renaming directories between

SpawnRequest EndOf(uint64_t number, const Sandbox& sandbox, uint32_t flags) {
  SpawnRequest request{};
  request.op = SpawnOp::kEndLook;
  request.flags = flags;
  request.argument = number;
  strncpy(request.sandbox, sandbox.id.c_str(), sizeof request.sandbox - 1);
  return request;
}

std::vector<std::string> DataOf(const std::vector<ServiceRequest>& services) {
  std::vector<std::string> data;
  for (const ServiceRequest& each : services)
    data.insert(data.end(), each.data.begin(), each.data.end());
  return data;
}

// The promoted paths, as spawn reads them. Patterns may match anything, so they count as all.
sys::Fd PathsOf(const LookRequest& request) {
  std::string bytes;
  const std::vector<std::string> none;
  if (request.promote.is_object() && request.promote.value("path_globs", none).empty())
    for (const std::string& path : request.promote.value("paths", none)) bytes += path + '\0';
  return sys::Fd(sys::SealedMemfd("paths", bytes.data(), bytes.size()));
}

}  // namespace

// Another state: a snapshot of the same sandbox, else another sandbox as it is now.
Task<Result<std::string>> ChangeReader::ResolveOther(std::shared_ptr<Sandbox> sandbox,
                                                     std::string ref, Client client,
                                                     Reading& reading) {
  RollbackRequest request;
  request.snapshot = ref;
  if (auto own = snapshots_.Choose(*sandbox, request)) co_return own->id;
  auto other = table_.Find(ref, client);
  if (!other || *other == sandbox)
    co_return Fail(Code::kNotFound,
                   fmt::format("compare {}: there is no snapshot of it and no other sandbox {}",
                               sandbox->id, EscapeForTerminal(ref)),
                   "cloche snapshots " + sandbox->id + " and cloche ls show what there is");
  if ((*other)->request.base_directory != sandbox->request.base_directory)
    co_return Fail(Code::kConflict, "compare: the two are copies of different things", "");
  const Turn turn = co_await TakeTurn(*other);
  SnapshotRequest unnamed;
  auto saved = co_await time_travel_.Save(*other, std::move(unnamed), SnapshotKind::kFork, nullptr);
  if (!saved) co_return std::unexpected(saved.error());
  reading.passing.push_back(*saved);
  co_return saved->id;
}

void ChangeReader::WatchClient(const std::shared_ptr<Reading>& reading, const Client& client) {
  const int copy = fcntl(client.socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;  // the next write will tell
  reading->client.assign(copy);
  // Not the end of what he sends: he may have said all he has to say, and listen.
  reading->client.async_wait(
      asio::posix::stream_descriptor::wait_error,
      [this, weak = std::weak_ptr(reading)](const boost::system::error_code& error) {
        const auto going = weak.lock();
        if (!error && going)
          End(*going, {Code::kUnavailable, "answer: nobody waits for it any more", ""});
      });
}

void ChangeReader::End(Reading& reading, Error why) {
  if (reading.ended) return;
  reading.ended = std::move(why);
  if (!reading.waiting || reading.waiting->done.is_set()) return;
  (void)spawn_.Send(EndOf(reading.waiting->number, *reading.sandbox, 0));
}

// What reads a snapshot of the moment keeps nobody from his turn.
void ChangeReader::EndAll(const Sandbox& sandbox, const Error& why) {
  std::erase_if(readings_, [](const std::weak_ptr<Reading>& reading) { return reading.expired(); });
  for (const auto& each : readings_)
    if (const auto reading = each.lock();
        reading && reading->in_turn && !reading->promotes && reading->sandbox.get() == &sandbox)
      End(*reading, why);
}

// Which snapshot to look at; "" = the sandbox itself, which stands still from here on if it is
// promoted.
Task<Result<std::string>> ChangeReader::Prepare(std::shared_ptr<Reading> reading,
                                                const LookRequest& request) {
  const auto& sandbox = reading->sandbox;
  if (request.stale) co_return "";  // a moment's look at names: nothing has to stand still for it
  reading->in_turn = true;
  reading->turn.emplace(co_await TakeTurn(sandbox));
  if (reading->ended) co_return std::unexpected(*reading->ended);
  if (!request.snapshot.empty()) {
    RollbackRequest wanted;
    wanted.snapshot = request.snapshot;
    auto chosen = snapshots_.Choose(*sandbox, wanted);
    if (!chosen) co_return std::unexpected(chosen.error());
    co_return chosen->id;
  }
  const bool running = sandbox->runs();
  const bool can_save =
      running && machine_.mode() == Mode::kSystem && !sandbox->planned.plan.in_memory;
  // A few files are promoted in less time than a snapshot takes.
  reading->few = can_save && reading->promotes && !request.much;
  if (can_save && !reading->few) {
    SnapshotRequest unnamed;
    auto saved =
        co_await time_travel_.Save(sandbox, std::move(unnamed), SnapshotKind::kFork, nullptr);
    if (!saved) co_return std::unexpected(saved.error());
    reading->passing.push_back(*saved);
    reading->turn.reset();
    reading->in_turn = false;
    co_return saved->id;
  }
  // A diff is read at the pace of a person: nobody stands still for that.
  if (!reading->promotes) co_return "";
  // A copy would take longer than to stand still for a moment.
  auto paused = co_await sandbox->Pause();
  if (!paused) co_return std::unexpected(paused.error());
  reading->paused = *paused;
  reading->freeze = running;
  co_return "";
}

Result<sys::Fd> ChangeReader::PlanOf(const Sandbox& sandbox, const Client& client) {
  // Without decoys: in reality there is nothing in their places, or what is hidden.
  SandboxRequest seen = sandbox.request;
  seen.canaries = {};
  ASSIGN_OR_RETURN(Planned planned, machine_.Plan(seen, machine_.FactsOf(client.peer), sandbox.id));
  // The host may have other mounts by now. Uppers are numbered by those it runs with.
  if (sandbox.runs()) planned.plan.spec.mounts = sandbox.planned.plan.spec.mounts;
  planned.plan.keep = true;
  const std::string bytes = EncodePlan(planned.plan);
  return sys::Fd(sys::SealedMemfd("plan", bytes.data(), bytes.size()));
}

Json ChangeReader::QuestionOf(const Reading& reading, const LookRequest& request,
                              const std::string& state) {
  const Sandbox& sandbox = *reading.sandbox;
  const std::string project =
      sandbox.request.project.empty() ? sandbox.request.cwd : sandbox.request.project;
  const Snapshot* saved = snapshots_.Get(state);
  const int64_t birth_ns = saved ? sandbox.birth.AtOf(saved->created) : sandbox.birth.at_ns();
  table_.ObserveClock();
  const int64_t back_ns = sandbox.birth.ClockBack(saved != nullptr);
  const bool promotes = !request.promote.is_null();
  return {{"sandbox", sandbox.id},
          {"ancestors", sandbox.birth.ancestors()},
          {"format", request.stale   ? "stale"
                     : request.patch ? "patch"
                                     : "json"},
          {"since_ns", SinceWithClock(birth_ns, back_ns)},
          {"clock_back_ns", back_ns},
          {"guard", request.guard},
          {"lines", request.lines},
          {"one_owner", machine_.mode() == Mode::kRootless},
          {"frozen", reading.freeze || reading.paused},
          {"project", project},
          {"home", sandbox.request.home},
          {"root", !request.root.empty() ? request.root
                   : project.empty()     ? "/"
                                         : project},
          {"paths", request.paths},
          {"guarded", promotes ? sandbox.birth.guarded() : std::vector<std::string>()},
          {"birth", promotes ? sandbox.birth.NoteFor(birth_ns) : Json()},
          {"service_data", DataOf(sandbox.request.services)},
          {"others", promotes && machine_.mode() == Mode::kSystem && !request.others_flattened &&
                         HasOthers(sandbox)},
          {"project_file", promotes ? sandbox.request.project_file : ""},
          {"promote", request.promote}};
}

Status ChangeReader::Send(Reading& reading, const LookRequest& request, const Client& client,
                          const std::string& state, const std::string& other) {
  const Sandbox& sandbox = *reading.sandbox;
  ASSIGN_OR_RETURN(const sys::Fd plan, PlanOf(sandbox, client));
  int answer[2], complaint[2];
  if (pipe2(answer, O_CLOEXEC) < 0)
    return Fail(Code::kInternal, fmt::format("make pipe: {}", strerror(errno)));
  const sys::Fd answers(answer[1]);
  sys::SetNonBlocking(answer[0]);
  reading.answer.assign(answer[0]);
  // Whoever says more than fits is not waited for.
  if (pipe2(complaint, O_CLOEXEC | O_NONBLOCK) < 0)
    return Fail(Code::kInternal, fmt::format("make pipe: {}", strerror(errno)));
  const sys::Fd complains(complaint[1]);
  reading.complaint = sys::Fd(complaint[0]);
  const std::string text = QuestionOf(reading, request, state).dump();
  const sys::Fd asked(sys::SealedMemfd("question", text.data(), text.size()));
  SpawnRequest spawn{};
  spawn.op = SpawnOp::kLook;
  spawn.flags = reading.paused || sandbox.runs() ? kFlagLive : 0;
  if (!request.promote.is_null()) spawn.flags |= kFlagPromote;
  if (reading.freeze) spawn.flags |= kFlagFreeze;
  if (reading.few) spawn.flags |= kFlagFew;
  strncpy(spawn.sandbox, sandbox.id.c_str(), sizeof spawn.sandbox - 1);
  strncpy(spawn.snapshot, state.c_str(), sizeof spawn.snapshot - 1);
  strncpy(spawn.other, other.c_str(), sizeof spawn.other - 1);
  const sys::Fd paths = PathsOf(request);
  const int fds[] = {plan.get(),    client.socket, paths.get(),
                     answers.get(), asked.get(),   complains.get()};
  reading.waiting = spawn_.Send(spawn, fds);
  return {};
}

Task<Result<std::shared_ptr<ChangeReader::Reading>>> ChangeReader::Start(
    std::shared_ptr<Sandbox> sandbox, LookRequest request, Client client) {
  auto reading = std::make_shared<Reading>(io_);
  reading->sandbox = sandbox;
  reading->promotes = !request.promote.is_null();
  readings_.push_back(reading);
  // What is being applied is applied, whoever listens.
  if (request.promote.is_null()) WatchClient(reading, client);
  Status begun;
  Result<std::string> state, other;
  if (!request.against.empty())
    other = co_await ResolveOther(sandbox, request.against, client, *reading);
  if (!other)
    begun = std::unexpected(other.error());
  else if (state = co_await Prepare(reading, request); !state)
    begun = std::unexpected(state.error());
  else if (reading->ended)
    begun = std::unexpected(*reading->ended);
  else
    begun = Send(*reading, request, client, *state, *other);
  if (begun) {
    asio::co_spawn(io_, ReleaseWhenDone(reading), kDetached);
    co_return reading;
  }
  (void)co_await Finish(reading);
  co_return std::unexpected(begun.error());
}

// Whoever asked may take his time to read the end of it.
Task<void> ChangeReader::ReleaseWhenDone(std::shared_ptr<Reading> reading) {
  co_await reading->waiting->done.Wait();
  Release(*reading);
}

void ChangeReader::Release(Reading& reading) {
  if (reading.paused) reading.sandbox->Resume();
  reading.paused = false;
  reading.turn.reset();
  reading.in_turn = false;
}

// In its own words if it had some.
Error ChangeReader::WhyFailed(Reading& reading, const SpawnAnswer& answer) {
  if (reading.ended) return *reading.ended;
  char said[4096];
  const ssize_t size =
      reading.complaint.valid() ? read(reading.complaint.get(), said, sizeof said) : 0;
  if (size <= 0) return machine_.Explain(answer);
  const std::string text(said, static_cast<size_t>(size));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("error")) return ErrorFromJson(json["error"]);
  return {Code::kInternal,
          fmt::format("look at {}: {}", reading.sandbox->id,
                      EscapeForTerminal(text.substr(0, text.find('\n')))),
          "ask again; if it stays, report this"};
}

Task<Status> ChangeReader::Finish(std::shared_ptr<Reading> reading) {
  boost::system::error_code ignored;
  (void)reading->answer.close(ignored);  // one that is still writing ends
  Status status;
  if (reading->waiting) {
    SpawnAnswer answer = co_await Spawn::Finish(reading->waiting);
    reading->too_much = reading->few && answer.reply.value == E2BIG;
    reading->renamed = reading->promotes && answer.reply.value == EXDEV;
    if (answer.reply.value != 0) status = std::unexpected(WhyFailed(*reading, answer));
  }
  (void)reading->client.close(ignored);
  Release(*reading);
  // Whoever asked does not wait for that.
  for (const Snapshot& snapshot : reading->passing)
    asio::co_spawn(
        io_,
        [](TimeTravel& time_travel, Snapshot passed) -> Task<void> {
          (void)co_await time_travel.Drop(std::move(passed));
        }(time_travel_, snapshot),
        kDetached);
  co_return status;
}

Task<Status> ChangeReader::Flatten(std::shared_ptr<Sandbox> sandbox, LookRequest asked,
                                   std::vector<std::string> states, Client client) {
  auto reading = std::make_shared<Reading>(io_);
  reading->sandbox = sandbox;
  readings_.push_back(reading);
  WatchClient(reading, client);
  reading->in_turn = true;
  reading->turn.emplace(co_await TakeTurn(sandbox));
  const Status copied = co_await CopyRenamed(reading, std::move(asked), std::move(states), client);
  boost::system::error_code ignored;
  (void)reading->client.close(ignored);
  Release(*reading);
  co_return copied;
}

Task<Status> ChangeReader::CopyRenamed(std::shared_ptr<Reading> reading, LookRequest asked,
                                       std::vector<std::string> states, Client client) {
  const auto& sandbox = reading->sandbox;
  auto plan = PlanOf(*sandbox, client);
  if (!plan) co_return std::unexpected(plan.error());
  const sys::Fd paths = PathsOf(asked);
  const int fds[] = {plan->get(), client.socket, paths.get()};
  for (const std::string& state : states) {
    SpawnRequest request{};
    request.op = SpawnOp::kFlatten;
    strncpy(request.sandbox, sandbox->id.c_str(), sizeof request.sandbox - 1);
    strncpy(request.snapshot, state.c_str(), sizeof request.snapshot - 1);
    if (state.empty()) {
      auto paused = co_await sandbox->Pause();
      if (!paused) co_return std::unexpected(paused.error());
      reading->paused = *paused;
      if (sandbox->runs()) request.flags = kFlagLive | kFlagFreeze;
    }
    if (reading->ended) co_return std::unexpected(*reading->ended);
    reading->waiting = spawn_.Send(request, fds);
    const SpawnAnswer answer = co_await Spawn::Finish(reading->waiting);
    if (std::exchange(reading->paused, false)) sandbox->Resume();
    if (reading->ended) co_return std::unexpected(*reading->ended);
    if (answer.reply.value != 0) co_return std::unexpected(machine_.Explain(answer));
  }
  co_return Status();
}

// What it holds now, and the snapshot that is promoted: both show it.
Task<Status> ChangeReader::FlattenOwn(std::shared_ptr<Sandbox> sandbox, LookRequest request,
                                      Client client) {
  std::vector<std::string> states(1);
  RollbackRequest wanted;
  wanted.snapshot = request.snapshot;
  if (!request.snapshot.empty())
    if (const auto chosen = snapshots_.Choose(*sandbox, wanted)) states.push_back(chosen->id);
  co_return co_await Flatten(sandbox, std::move(request), std::move(states), client);
}

Task<Result<ChangeReader::Said>> ChangeReader::Ask(std::shared_ptr<Sandbox> sandbox,
                                                   LookRequest request, Client client,
                                                   size_t most) {
  auto reading = co_await Start(sandbox, request, client);
  if (!reading) co_return std::unexpected(reading.error());
  Said said;
  std::vector<char> piece(64 << 10);
  // A refusal is read whole, however long: it is no answer.
  while (said.text.size() < most ||
         (said.text.starts_with(kRefusal) && said.text.size() < kMostRefusal)) {
    auto [error, size] = co_await (*reading)->answer.async_read_some(
        asio::buffer(piece.data(), piece.size()), kAwait);
    if (!error) {
      said.text.append(piece.data(), size);
      continue;
    }
    const Status status = co_await Finish(*reading);
    if ((*reading)->too_much) {
      request.much = true;
      co_return co_await Ask(std::move(sandbox), std::move(request), client, most);
    }
    if ((*reading)->renamed && request.flattened++ < kMostFlattened) {
      const Status flattened = co_await FlattenOwn(sandbox, request, client);
      if (!flattened) co_return std::unexpected(flattened.error());
      co_return co_await Ask(std::move(sandbox), std::move(request), client, most);
    }
    if (!status) co_return std::unexpected(status.error());
    co_return said;
  }
  if (said.text.starts_with(kRefusal)) {
    (void)co_await Finish(*reading);
    co_return Fail(Code::kInternal, "look at " + sandbox->id + ": why it is refused has no end");
  }
  // It says the first word when everything is done: nobody stands still while it is read, however
  // slowly.
  if ((*reading)->freeze)
    (void)spawn_.Send(EndOf((*reading)->waiting->number, *sandbox, kFlagFreeze));
  Release(**reading);
  WatchClient(*reading, client);
  said.rest = *reading;
  co_return said;
}

Result<Json> ChangeReader::Parse(const Sandbox& sandbox, const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Fail(Code::kInternal, "look at " + sandbox.id + ": no answer");
  if (json.contains("error")) return std::unexpected(ErrorFromJson(json["error"]));
  return json;
}

Task<Result<Json>> ChangeReader::AskWhole(std::shared_ptr<Sandbox> sandbox, LookRequest request,
                                          Client client) {
  const size_t all = std::numeric_limits<size_t>::max();
  auto said = co_await Ask(sandbox, std::move(request), client, all);
  if (!said) co_return std::unexpected(said.error());
  co_return Parse(*sandbox, said->text);
}

Task<Result<Json>> ChangeReader::Staleness(std::shared_ptr<Sandbox> sandbox, Client client,
                                           bool guard) {
  LookRequest request;
  request.stale = true;
  request.guard = guard;
  auto answer = co_await AskWhole(sandbox, std::move(request), client);
  if (!answer) co_return answer;
  Json& json = *answer;
  json["id"] = sandbox->id;
  json["age_s"] = static_cast<double>(sys::CoarseNanos() - sandbox->birth.at_ns()) / 1e9;
  if (const int64_t back_ns = sandbox->birth.ClockBack(false); back_ns > kMostSetBackNs)
    json["clock"] = DescribeSetBack(back_ns);
  json["project"] = sandbox->request.project;
  json["base_commit"] = sandbox->request.base_commit;
  json["moved_before"] = sandbox->birth.moved();
  co_return json;
}

bool ChangeReader::HasOthers(const Sandbox& sandbox) const {
  return std::ranges::any_of(table_.all(), [&](const auto& each) {
    return !OtherStatesOf(*each.second, sandbox).empty();
  });
}

std::vector<std::string> ChangeReader::OtherStatesOf(const Sandbox& each,
                                                     const Sandbox& promoted) const {
  std::vector<std::string> states;
  if (each.owner != promoted.owner || !each.keep || !each.request.base_directory.empty() ||
      !CheckReadable(each))
    return states;
  const bool there = each.has_files();
  if (there && &each != &promoted) states.emplace_back();
  for (const Snapshot& snapshot : snapshots_.Of(each))
    if (CheckReadable(snapshot)) states.push_back(snapshot.id);
  return states;
}

}  // namespace cloche::daemon
