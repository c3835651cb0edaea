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
#include "daemon/engine.h"
#include "sys/process.h"
#include "sys/stream.h"

// Starts cloche-diff on a state that does not change meanwhile.
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
Task<Result<std::string>> Engine::ResolveOther(std::shared_ptr<Sandbox> sandbox, std::string ref,
                                               Client client, Look& look) {
  RollbackRequest request;
  request.snapshot = ref;
  if (auto own = ChooseSnapshot(*sandbox, request)) co_return own->id;
  auto other = Find(ref, client);
  if (!other || *other == sandbox)
    co_return Fail(Code::kNotFound,
                   fmt::format("compare {}: there is no snapshot of it and no other sandbox {}",
                               sandbox->id, EscapeForTerminal(ref)),
                   "cloche snapshots " + sandbox->id + " and cloche ls show what there is");
  if ((*other)->request.base_directory != sandbox->request.base_directory)
    co_return Fail(Code::kConflict, "compare: the two are copies of different things", "");
  const Turn turn = co_await TakeTurn(*other);
  SnapshotRequest unnamed;
  auto saved = co_await SaveState(*other, std::move(unnamed), SnapshotKind::kFork, nullptr);
  if (!saved) co_return std::unexpected(saved.error());
  look.passing.push_back(*saved);
  co_return saved->id;
}

void Engine::WatchClient(const std::shared_ptr<Look>& look, const Client& client) {
  const int copy = fcntl(client.socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;  // the next write will tell
  look->client.assign(copy);
  // Not the end of what he sends: he may have said all he has to say, and listen.
  look->client.async_wait(
      asio::posix::stream_descriptor::wait_error,
      [this, weak = std::weak_ptr(look)](const boost::system::error_code& error) {
        const auto going = weak.lock();
        if (!error && going)
          EndLook(*going, {Code::kUnavailable, "answer: nobody waits for it any more", ""});
      });
}

void Engine::EndLook(Look& look, Error why) {
  if (look.ended) return;
  look.ended = std::move(why);
  if (!look.waiting || look.waiting->done.is_set()) return;
  (void)spawn_.Send(EndOf(look.waiting->number, *look.sandbox, 0));
}

// Those that keep somebody else from his turn. What reads a snapshot of the moment does not.
void Engine::EndLooks(const Sandbox& sandbox, const Error& why) {
  std::erase_if(looks_, [](const std::weak_ptr<Look>& look) { return look.expired(); });
  for (const auto& each : looks_)
    if (const auto look = each.lock();
        look && look->in_turn && !look->promotes && look->sandbox.get() == &sandbox)
      EndLook(*look, why);
}

// Which snapshot to look at; "" = the sandbox itself, which stands still from here on if it is
// promoted.
Task<Result<std::string>> Engine::PrepareLook(std::shared_ptr<Look> look,
                                              const LookRequest& request) {
  const auto& sandbox = look->sandbox;
  if (request.stale) co_return "";  // a moment's look at names: nothing has to stand still for it
  look->in_turn = true;
  look->turn.emplace(co_await TakeTurn(sandbox));
  if (look->ended) co_return std::unexpected(*look->ended);
  if (!request.snapshot.empty()) {
    RollbackRequest wanted;
    wanted.snapshot = request.snapshot;
    auto chosen = ChooseSnapshot(*sandbox, wanted);
    if (!chosen) co_return std::unexpected(chosen.error());
    co_return chosen->id;
  }
  const bool running = sandbox->state == Sandbox::State::kRunning;
  const bool can_save = running && mode_ == Mode::kSystem && !sandbox->planned.plan.in_memory;
  // A few files are promoted in less time than a snapshot takes.
  look->few = can_save && look->promotes && !request.much;
  if (can_save && !look->few) {
    SnapshotRequest unnamed;
    auto saved = co_await SaveState(sandbox, std::move(unnamed), SnapshotKind::kFork, nullptr);
    if (!saved) co_return std::unexpected(saved.error());
    look->passing.push_back(*saved);
    look->turn.reset();
    look->in_turn = false;
    co_return saved->id;
  }
  // A diff is read at the pace of a person: nobody stands still for that.
  if (!look->promotes) co_return "";
  // A copy would take longer than to stand still for a moment.
  auto paused = co_await sandbox->Pause();
  if (!paused) co_return std::unexpected(paused.error());
  look->paused = *paused;
  look->freeze = running;
  co_return "";
}

Result<sys::Fd> Engine::PlanOfLook(const Sandbox& sandbox, const Client& client) {
  // Without decoys: in reality there is nothing in their places, or what is hidden.
  SandboxRequest seen = sandbox.request;
  seen.canaries = {};
  ASSIGN_OR_RETURN(Planned planned, Plan(seen, FactsOf(client.peer), sandbox.id));
  // The host may have other mounts by now. Uppers are numbered by those it runs with.
  if (sandbox.state == Sandbox::State::kRunning)
    planned.plan.spec.mounts = sandbox.planned.plan.spec.mounts;
  planned.plan.keep = true;
  const std::string bytes = EncodePlan(planned.plan);
  return sys::Fd(sys::SealedMemfd("plan", bytes.data(), bytes.size()));
}

Status Engine::SendLook(Look& look, const LookRequest& request, const Client& client,
                        const std::string& state, const std::string& other) {
  const Sandbox& sandbox = *look.sandbox;
  ASSIGN_OR_RETURN(const sys::Fd plan, PlanOfLook(sandbox, client));
  int answer[2], complaint[2];
  if (pipe2(answer, O_CLOEXEC) < 0)
    return Fail(Code::kInternal, fmt::format("make pipe: {}", strerror(errno)));
  const sys::Fd answers(answer[1]);
  sys::SetNonBlocking(answer[0]);
  look.answer.assign(answer[0]);
  // Whoever says more than fits is not waited for.
  if (pipe2(complaint, O_CLOEXEC | O_NONBLOCK) < 0)
    return Fail(Code::kInternal, fmt::format("make pipe: {}", strerror(errno)));
  const sys::Fd complains(complaint[1]);
  look.complaint = sys::Fd(complaint[0]);
  const std::string project =
      sandbox.request.project.empty() ? sandbox.request.cwd : sandbox.request.project;
  const auto saved = snapshots_.find(state);
  const bool older = saved != snapshots_.end();
  const int64_t birth_ns = older ? sandbox.BirthAt(saved->second.created) : sandbox.birth_ns;
  ObserveClock();
  const int64_t back_ns = sandbox.ClockBackFor(older);
  const bool noted = !request.promote.is_null() && sandbox.birth_note.is_object() &&
                     sandbox.birth_note.value("birth_ns", int64_t{0}) == birth_ns;
  const Json question = {
      {"sandbox", sandbox.id},
      {"ancestors", sandbox.ancestors},
      {"format", request.stale   ? "stale"
                 : request.patch ? "patch"
                                 : "json"},
      {"since_ns", SinceWithClock(birth_ns, back_ns)},
      {"clock_back_ns", back_ns},
      {"guard", request.guard},
      {"lines", request.lines},
      {"one_owner", mode_ == Mode::kRootless},
      {"frozen", look.freeze || look.paused},
      {"project", project},
      {"home", sandbox.request.home},
      {"root", !request.root.empty() ? request.root
               : project.empty()     ? "/"
                                     : project},
      {"paths", request.paths},
      {"guarded", request.promote.is_null() ? std::vector<std::string>() : sandbox.guarded},
      {"birth", noted ? sandbox.birth_note : Json()},
      {"service_data", DataOf(sandbox.request.services)},
      {"others", !request.promote.is_null() && mode_ == Mode::kSystem &&
                     !request.others_flattened && HasOthers(sandbox)},
      {"project_file", request.promote.is_null() ? "" : sandbox.request.project_file},
      {"promote", request.promote}};
  const std::string text = question.dump();
  const sys::Fd asked(sys::SealedMemfd("question", text.data(), text.size()));
  SpawnRequest spawn{};
  spawn.op = SpawnOp::kLook;
  spawn.flags = look.paused || sandbox.state == Sandbox::State::kRunning ? kFlagLive : 0;
  if (!request.promote.is_null()) spawn.flags |= kFlagPromote;
  if (look.freeze) spawn.flags |= kFlagFreeze;
  if (look.few) spawn.flags |= kFlagFew;
  strncpy(spawn.sandbox, sandbox.id.c_str(), sizeof spawn.sandbox - 1);
  strncpy(spawn.snapshot, state.c_str(), sizeof spawn.snapshot - 1);
  strncpy(spawn.other, other.c_str(), sizeof spawn.other - 1);
  const sys::Fd paths = PathsOf(request);
  const int fds[] = {plan.get(),    client.socket, paths.get(),
                     answers.get(), asked.get(),   complains.get()};
  look.waiting = spawn_.Send(spawn, fds);
  return {};
}

Task<Result<std::shared_ptr<Engine::Look>>> Engine::StartLook(std::shared_ptr<Sandbox> sandbox,
                                                              LookRequest request, Client client) {
  auto look = std::make_shared<Look>(io_);
  look->sandbox = sandbox;
  look->promotes = !request.promote.is_null();
  looks_.push_back(look);
  // What is being applied is applied, whoever listens.
  if (request.promote.is_null()) WatchClient(look, client);
  Status begun;
  Result<std::string> state, other;
  if (!request.against.empty())
    other = co_await ResolveOther(sandbox, request.against, client, *look);
  if (!other)
    begun = std::unexpected(other.error());
  else if (state = co_await PrepareLook(look, request); !state)
    begun = std::unexpected(state.error());
  else if (look->ended)
    begun = std::unexpected(*look->ended);
  else
    begun = SendLook(*look, request, client, *state, *other);
  if (begun) {
    asio::co_spawn(io_, ReleaseWhenDone(look), kDetached);
    co_return look;
  }
  (void)co_await FinishLook(look);
  co_return std::unexpected(begun.error());
}

// Whoever asked may take his time to read the end of it.
Task<void> Engine::ReleaseWhenDone(std::shared_ptr<Look> look) {
  co_await look->waiting->done.Wait();
  Release(*look);
}

void Engine::Release(Look& look) {
  if (look.paused) look.sandbox->Resume();
  look.paused = false;
  look.turn.reset();
  look.in_turn = false;
}

// In its own words if it had some.
Error Engine::WhyLookFailed(Look& look, const SpawnAnswer& answer) {
  if (look.ended) return *look.ended;
  char said[4096];
  const ssize_t size = look.complaint.valid() ? read(look.complaint.get(), said, sizeof said) : 0;
  if (size <= 0) return Explained(answer);
  const std::string text(said, static_cast<size_t>(size));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("error")) return ErrorFromJson(json["error"]);
  return {Code::kInternal,
          fmt::format("look at {}: {}", look.sandbox->id,
                      EscapeForTerminal(text.substr(0, text.find('\n')))),
          "ask again; if it stays, report this"};
}

Task<Status> Engine::FinishLook(std::shared_ptr<Look> look) {
  boost::system::error_code ignored;
  (void)look->answer.close(ignored);  // one that is still writing ends
  Status status;
  if (look->waiting) {
    SpawnAnswer answer = co_await SpawnLink::Finish(look->waiting);
    look->too_much = look->few && answer.reply.value == E2BIG;
    look->renamed = look->promotes && answer.reply.value == EXDEV;
    if (answer.reply.value != 0) status = std::unexpected(WhyLookFailed(*look, answer));
  }
  (void)look->client.close(ignored);
  Release(*look);
  // Whoever asked does not wait for that.
  for (const Snapshot& snapshot : look->passing)
    asio::co_spawn(
        io_,
        [](Engine& engine, Snapshot passed) -> Task<void> {
          (void)co_await engine.DropSnapshot(std::move(passed));
        }(*this, snapshot),
        kDetached);
  co_return status;
}

// A promotion moves what renamed directories inside still show of reality: it is copied first.
// `states`: snapshots, and "" for what the sandbox holds now. It may take long, so it ends like a
// diff, when the client goes or the sandbox is stopped.
Task<Status> Engine::Flatten(std::shared_ptr<Sandbox> sandbox, LookRequest asked,
                             std::vector<std::string> states, Client client) {
  auto look = std::make_shared<Look>(io_);
  look->sandbox = sandbox;
  looks_.push_back(look);
  WatchClient(look, client);
  look->in_turn = true;
  look->turn.emplace(co_await TakeTurn(sandbox));
  const Status copied = co_await CopyRenamed(look, std::move(asked), std::move(states), client);
  boost::system::error_code ignored;
  (void)look->client.close(ignored);
  Release(*look);
  co_return copied;
}

Task<Status> Engine::CopyRenamed(std::shared_ptr<Look> look, LookRequest asked,
                                 std::vector<std::string> states, Client client) {
  const auto& sandbox = look->sandbox;
  auto plan = PlanOfLook(*sandbox, client);
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
      look->paused = *paused;
      if (sandbox->state == Sandbox::State::kRunning) request.flags = kFlagLive | kFlagFreeze;
    }
    if (look->ended) co_return std::unexpected(*look->ended);
    look->waiting = spawn_.Send(request, fds);
    const SpawnAnswer answer = co_await SpawnLink::Finish(look->waiting);
    if (std::exchange(look->paused, false)) sandbox->Resume();
    if (look->ended) co_return std::unexpected(*look->ended);
    if (answer.reply.value != 0) co_return std::unexpected(Explained(answer));
  }
  co_return Status();
}

Task<Result<Engine::Said>> Engine::Ask(std::shared_ptr<Sandbox> sandbox, LookRequest request,
                                       Client client, size_t most) {
  auto look = co_await StartLook(sandbox, request, client);
  if (!look) co_return std::unexpected(look.error());
  Said said;
  std::vector<char> piece(64 << 10);
  // A refusal is read whole, however long: it is no answer.
  while (said.text.size() < most ||
         (said.text.starts_with(kRefusal) && said.text.size() < kMostRefusal)) {
    auto [error, size] =
        co_await (*look)->answer.async_read_some(asio::buffer(piece.data(), piece.size()), kAwait);
    if (!error) {
      said.text.append(piece.data(), size);
      continue;
    }
    const Status status = co_await FinishLook(*look);
    if ((*look)->too_much) {
      request.much = true;
      co_return co_await Ask(std::move(sandbox), std::move(request), client, most);
    }
    if ((*look)->renamed && request.flattened++ < kMostFlattened) {
      std::vector<std::string> states(1);  // both show it
      RollbackRequest wanted;
      wanted.snapshot = request.snapshot;
      if (!request.snapshot.empty())
        if (const auto chosen = ChooseSnapshot(*sandbox, wanted)) states.push_back(chosen->id);
      const Status flattened = co_await Flatten(sandbox, request, std::move(states), client);
      if (!flattened) co_return std::unexpected(flattened.error());
      co_return co_await Ask(std::move(sandbox), std::move(request), client, most);
    }
    if (!status) co_return std::unexpected(status.error());
    co_return said;
  }
  if (said.text.starts_with(kRefusal)) {
    (void)co_await FinishLook(*look);
    co_return Fail(Code::kInternal, "look at " + sandbox->id + ": why it is refused has no end");
  }
  // It says the first word when everything is done: nobody stands still while it is read, however
  // slowly.
  if ((*look)->freeze) (void)spawn_.Send(EndOf((*look)->waiting->number, *sandbox, kFlagFreeze));
  Release(**look);
  WatchClient(*look, client);
  said.rest = *look;
  co_return said;
}

Result<Json> Engine::ParseSaid(const Sandbox& sandbox, const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Fail(Code::kInternal, "look at " + sandbox.id + ": no answer");
  if (json.contains("error")) return std::unexpected(ErrorFromJson(json["error"]));
  return json;
}

Task<Result<Json>> Engine::AskWhole(std::shared_ptr<Sandbox> sandbox, LookRequest request,
                                    Client client) {
  const size_t all = std::numeric_limits<size_t>::max();
  auto said = co_await Ask(sandbox, std::move(request), client, all);
  if (!said) co_return std::unexpected(said.error());
  co_return ParseSaid(*sandbox, said->text);
}

Status Engine::PinProjectFile(Sandbox& sandbox, std::string text) {
  if (sandbox.request.project.empty())
    return Fail(Code::kConflict, "pin cloche.toml of " + sandbox.id + ": it has no project",
                "make a sandbox in the project: cloche new");
  sandbox.PinProjectFile(std::move(text));
  return Save(sandbox);
}

Task<Result<Json>> Engine::Staleness(std::shared_ptr<Sandbox> sandbox, Client client, bool guard) {
  LookRequest request;
  request.stale = true;
  request.guard = guard;
  auto answer = co_await AskWhole(sandbox, std::move(request), client);
  if (!answer) co_return answer;
  Json& json = *answer;
  json["id"] = sandbox->id;
  json["age_s"] = static_cast<double>(sys::CoarseNanos() - sandbox->birth_ns) / 1e9;
  if (const int64_t back_ns = sandbox->ClockBackFor(false); back_ns > kMostSetBackNs)
    json["clock"] = DescribeSetBack(back_ns);
  json["project"] = sandbox->request.project;
  json["base_commit"] = sandbox->request.base_commit;
  json["moved_before"] = sandbox->moved;
  co_return json;
}

// What was never changed here is seen as it is outside, but what was looked at may have been
// remembered: a new mount forgets that. What moved on both sides stays as it is here.
Task<Result<Json>> Engine::Refresh(std::shared_ptr<Sandbox> sandbox, Client client) {
  if (sandbox->running_commands() > 0)
    co_return Fail(Code::kConflict, "refresh " + sandbox->id + ": a command runs in it",
                   "wait for it, or end it: cloche stop " + sandbox->id);
  const int64_t now = sys::RealNanos();
  co_await PassTick(now);
  auto stale = co_await Staleness(sandbox, client, true);
  if (!stale) co_return stale;
  Status stopped = co_await Stop(sandbox, "refreshed");
  if (!stopped) co_return std::unexpected(stopped.error());
  for (const std::string path : (*stale)["both_paths"])
    if (std::ranges::find(sandbox->moved, path) == sandbox->moved.end())
      sandbox->moved.push_back(path);
  for (const std::string path : (*stale)["guarded"])
    if (std::ranges::find(sandbox->guarded, path) == sandbox->guarded.end())
      sandbox->guarded.push_back(path);
  stale->erase("guarded");
  sandbox->earlier_births.push_back(sandbox->birth_ns);
  sandbox->birth_ns = now;
  sandbox->clock_back_before_ns += sandbox->clock.back_ns();
  sandbox->clock = ClockTrail(sys::ReadClocks(), 0);
  sandbox->birth_note = Json();
  CLOCHE_CO_TRY(Save(*sandbox));
  NoteBirth(sandbox, client);
  (*stale)["moved_before"] = sandbox->moved;
  co_return stale;
}

}  // namespace cloche::daemon
