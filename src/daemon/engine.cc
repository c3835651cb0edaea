#include "daemon/engine.h"

#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "base/nearest_word.h"
#include "base/text.h"
#include "daemon/last_words.h"
#include "policy/cures.h"
#include "policy/environment.h"
#include "policy/print.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/watch_reserve.h"

namespace cloche::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Something of its own that promotions will be about, and not the whole machine or home.
bool HasProject(const SandboxRequest& request) {
  const std::string& project = request.project.empty() ? request.cwd : request.project;
  return request.base_directory.empty() && !project.empty() && project != "/" &&
         project != request.home;
}

void MarkFull(const Sandbox& sandbox, uint32_t flags, CommandRun& command) {
  const KernelLimits& limits = sandbox.planned.plan.limits;
  if ((flags & kFlagFilesFull) != 0)
    command.MarkLimit({"inodes", static_cast<double>(limits.inodes),
                       fmt::format("limit of {} files reached", limits.inodes)});
  if ((flags & kFlagShareFull) != 0)
    command.MarkLimit({"share", 0,
                       "your share of the pool, half of it, is used up by your sandboxes; remove "
                       "some: cloche ls, cloche rm NAME"});
  if ((flags & kFlagDiskFull) != 0)
    command.MarkLimit({"disk", static_cast<double>(limits.disk_bytes),
                       fmt::format("disk limit {} reached", FormatBytes(limits.disk_bytes))});
}

constexpr int kMostLaunches = 3;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Command Engine::ImageOf(const CommandRequest& request, const Sandbox& sandbox) const {
  Command image;
  image.argv = request.argv;
  image.cwd = request.cwd.empty() ? sandbox.planned.cwd : request.cwd;
  if (request.cwd_optional && (!sandbox.request.base_directory.empty() || sandbox.request.declared))
    image.other_cwd = sandbox.planned.cwd;
  const std::vector<std::string>& env = request.env.empty() ? sandbox.request.env : request.env;
  for (const std::string& variable : env)
    if (!variable.starts_with("PWD=") && !variable.starts_with("CLOCHE_"))
      image.env.push_back(variable);
  if (image.other_cwd.empty()) image.env.push_back("PWD=" + image.cwd);
  image.env.push_back("CLOCHE_SANDBOX=" + sandbox.id);
  AddNetworkVariables(sandbox, image.env);
  AddSecretVariables(sandbox, image.env);
  AddTrustVariables(sandbox, request.env_names, image.env);
  image.pty = request.pty.has_value();
  image.wants_stdin = request.wants_stdin;
  if (request.pty) {
    image.rows = request.pty->rows;
    image.columns = request.pty->columns;
  }
  image.open_files = sandbox.planned.limits.files.value_or(0);
  // Without a cgroup the number of processes is the user's own limit, counted per user namespace.
  if (sandbox.planned.plan.limits.pids == 0)
    image.processes = sandbox.planned.limits.pids.value_or(0);
  return image;
}

std::string NewId(const char* prefix) {
  static constexpr char kAlphabet[] = "abcdefghjkmnpqrstuvwxyz23456789";
  unsigned char random[12];
  sys::RandomBytes(random, sizeof random);
  std::string id = prefix;
  for (unsigned char byte : random) id.push_back(kAlphabet[byte % (sizeof kAlphabet - 1)]);
  return id;
}

Engine::Engine(asio::io_context& io, Mode mode, Directories directories, SpawnLink& spawn,
               Registry& registry)
    : io_(io),
      mode_(mode),
      directories_(std::move(directories)),
      spawn_(spawn),
      registry_(registry),
      cgroups_(sys::FindCgroups(mode == Mode::kSystem)),
      egress_(io, mode, spawn, directories_.state + "/daemon/egress.log"),
      vault_(directories_.state + "/daemon") {
  ServeNetworks();
  spawn_.Serve([this](const SpawnReply& event) { InitExited(event); }, [this] { SpawnLost(); });
}

const HostFacts& Engine::facts() { return watch_.Changed(facts_) ? FreshFacts() : facts_; }

const HostFacts& Engine::FreshFacts() {
  facts_ = GatherHostFacts(mode_, directories_, cgroups_);
  people_.clear();
  plans_.Clear();
  return facts_;
}

const Engine::KnownPerson& Engine::Person(uint32_t uid) {
  // A home or an account may be a moment old.
  if (int64_t stamp = PeopleStamp(); stamp != people_stamp_) {
    people_.clear();
    plans_.Clear();
    people_stamp_ = stamp;
  }
  auto found = people_.find(uid);
  if (found == people_.end())
    found = people_.emplace(uid, KnownPerson{AccountOf(uid), OtherHomes(uid)}).first;
  return found->second;
}

UserFacts Engine::FactsOf(const sys::PeerIdentity& peer) {
  facts();
  UserFacts user = Person(peer.uid).account;
  user.uid = peer.uid;
  user.gid = peer.gid;
  user.groups.assign(peer.groups, peer.groups + peer.group_count);
  return user;
}

Result<Planned> Engine::Plan(const SandboxRequest& request, const UserFacts& user, std::string id) {
  facts();
  facts_.other_homes = Person(user.uid).other_homes;
  return plans_.Plan(facts_, user, request, std::move(id));
}

Error Engine::Explained(const SpawnAnswer& answer) {
  return ExplainLaunchFailure(answer.reply.stage, answer.reply.operation, answer.reply.value,
                              answer.reply.detail, FreshFacts());
}

std::shared_ptr<Sandbox> Engine::MakeSandbox(const std::string& id, uint32_t owner) {
  auto sandbox = std::make_shared<Sandbox>(
      io_, id, owner,
      [this, id](const char* limit, const std::string& reason) { EndLater(id, limit, reason); });
  GuardLater(*sandbox);
  return sandbox;
}

// What a crash left half-made or half-removed.
Task<void> Engine::RemoveRest(std::string id) {
  SpawnAnswer answer = co_await spawn_.Call(SpawnOp::kDiscard, id);
  if (answer.reply.value == 0) (void)registry_.Remove(id);
  RemoveAuthorities(id);
}

Task<Result<Json>> Engine::Explain(SandboxRequest request, Client client) {
  CLOCHE_CO_TRY(GrantSecrets(request.network, client.peer.uid));
  const auto rules = CompileNetwork(request.network, client.peer.uid);
  if (!rules) co_return std::unexpected(rules.error());
  DrawDecoys(request.canaries);
  auto planned = Plan(request, FactsOf(client.peer), "sb_explain");
  if (!planned) co_return std::unexpected(planned.error());
  if (NeedsAuthority(*rules))
    planned->differences.push_back(
        {"an authority of the sandbox's own is believed, and covers the bundle of certificates",
         "rules about requests in HTTPS need TLS to be ended at the border"});
  Json explained = {{"id", planned->plan.sandbox_id},
                    {"text", PlannedToText(*planned)},
                    {"differences_text", DifferencesToText(*planned)}};
  explained.update(PlannedToJson(*planned));
  co_return explained;
}

Task<Status> Engine::Launch(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps,
                            FirstCommand* first) {
  if (spawn_lost_)
    co_return Fail(Code::kUnavailable, "start a sandbox: cloche-spawn died",
                   "stop cloched; the next command starts it again");
  // Nothing runs before the border is guarded.
  const bool guarded =
      !sandbox->request.network.rules.empty() || !sandbox->request.signing.keys.empty();
  SpawnAnswer answer;
  for (int attempt = 0;; ++attempt) {
    auto planned = Plan(sandbox->request, FactsOf(client.peer), sandbox->id);
    if (!planned) co_return std::unexpected(planned.error());
    if (planned->plan.in_memory &&
        (sandbox->request.snapshot_commands || sandbox->request.snapshot_every))
      co_return Fail(
          Code::kUnavailable, "make sandbox: what is kept in memory cannot be saved",
          "leave out --auto-snapshot, or --in-memory and --inodes (rootless also --disk)");
    sandbox->planned = std::move(*planned);
    sandbox->planned.plan.keep = sandbox->keep;
    if (first && !first->command)
      first->command = MakeCommand(*sandbox, std::move(first->request), first->watcher, {});
    if (steps) steps->Mark("plan");
    const std::string bytes = EncodePlan(sandbox->planned.plan);
    const sys::Fd memory(sys::SealedMemfd("plan", bytes.data(), bytes.size()));
    if (!memory.valid()) co_return Fail(Code::kInternal, "make launch plan: out of memory");
    std::vector<int> fds(
        1, memory.get());  // no initializer list: g++ 12 miscompiles one across co_await
    fds.push_back(client.socket);
    sys::Fd image;
    if (first && !guarded) {
      const std::string text = EncodeCommand(ImageOf(first->command->request(), *sandbox));
      image = sys::Fd(sys::SealedMemfd("command", text.data(), text.size()));
      if (!image.valid()) co_return Fail(Code::kInternal, "make command image: out of memory");
      fds.push_back(image.get());
    }
    answer = co_await spawn_.Call(SpawnOp::kLaunch, sandbox->id, 0, std::move(fds));
    if (answer.reply.value == 0) break;
    // A mount that has just gone, or come, makes a plan wrong: the next is of the machine as it is.
    if (attempt == kMostLaunches - 1 || !watch_.Changed(facts_))
      co_return std::unexpected(Explained(answer));
    FreshFacts();
  }
  if (answer.fds.size() < 3)
    co_return Fail(Code::kInternal, "start a sandbox: cloche-spawn sent no descriptors");
  if (steps) {
    auto spent = [&](SpawnTiming step) { return answer.reply.timing_us[step] / 1000.0; };
    steps->Add((answer.reply.flags & kFlagFromPool) ? "take prepared sandbox" : "build sandbox",
               spent(kTimePrepare));
    steps->Add("set limits", spent(kTimeLimits) + spent(kTimeHandOver));
    steps->Mark("launch, whole");
  }
  if (first && !guarded) sandbox->Adopt(first->command);
  sandbox->Attach(std::move(answer), cgroups_);
  if (guarded) CLOCHE_CO_TRY(co_await StartGuarded(sandbox, client, first));
  if (guarded && steps) steps->Mark("network");
  if (first) LimitWallTime(sandbox, first->command);
  co_return Status{};
}

Task<Result<std::shared_ptr<Sandbox>>> Engine::Create(SandboxRequest request, bool keep,
                                                      Client client, StepTimer* steps,
                                                      FirstCommand* first) {
  std::vector<std::string> names;
  if (!request.name.empty()) names.push_back(request.name);
  CLOCHE_CO_TRY(CheckNewNames(names, 1, client));
  if (!keep && (request.snapshot_commands || request.snapshot_every))
    co_return Fail(Code::kInvalid, "auto_snapshot: a disposable sandbox is not saved",
                   "make one that stays: cloche new --auto-snapshot ...");
  if (!request.services.empty())
    co_return Fail(Code::kInvalid, "services: their data is not in the sandbox yet",
                   "copy it first, then POST /v1/sandboxes/ID/services; cloche new --with-service "
                   "does it");
  for (SecretGrant& grant : request.network.secrets) grant.id = grant.placeholder = "";
  request.network.masked.clear();
  CLOCHE_CO_TRY(GrantSecrets(request.network, client.peer.uid));
  CLOCHE_CO_TRY(CompileNetwork(request.network, client.peer.uid));
  NumberRules(request.network);
  DrawDecoys(request.canaries);
  request.env = FilterEnvironment(request.env, request.env_names).kept;
  if (keep) LiveOn(request);
  auto sandbox = MakeSandbox(NewId("sb_"), client.peer.uid);
  sandbox->name = request.name;
  sandbox->request = std::move(request);
  sandbox->PinProjectFile(sandbox->request.project_file);
  sandbox->keep = keep;
  // Recorded before its files exist: after a crash in between, Load removes what was half-made.
  CLOCHE_CO_TRY(Save(*sandbox));
  sandboxes_[sandbox->id] = sandbox;  // before the first wait: the name is taken from here on
  // Its own work may not begin in the tick of its birth; without a command the launch is part of
  // the wait. A disposable sandbox is never compared with reality.
  if (keep && first) co_await PassTick(sandbox->birth_ns);
  Status launched = co_await Launch(sandbox, client, steps, first);
  if (keep) co_await PassTick(sandbox->birth_ns);
  if (launched) launched = Save(*sandbox);
  if (!launched) {
    sandboxes_.erase(sandbox->id);
    if (sandbox->state == Sandbox::State::kStarting) sandbox->state = Sandbox::State::kEnded;
    if (sandbox->keep) (void)registry_.Remove(sandbox->id);
    if (sandbox->state == Sandbox::State::kRunning || sandbox->state == Sandbox::State::kStopped)
      co_await spawn_.Call(SpawnOp::kDiscard, sandbox->id);
    co_return std::unexpected(launched.error());
  }
  if (keep && HasProject(sandbox->request)) NoteBirth(sandbox, client);
  co_return sandbox;
}

Status CheckAgent(const Sandbox& sandbox, const CommandRequest& request) {
  if (request.agent.empty() || sandbox.request.agent.empty() ||
      request.agent == sandbox.request.agent)
    return {};
  return Fail(
      Code::kConflict,
      fmt::format("run in {}: it serves agent {}, not {}", sandbox.id,
                  EscapeForTerminal(sandbox.request.agent), EscapeForTerminal(request.agent)),
      "make a sandbox for this agent: cloche new --agent NAME");
}

Task<Result<std::shared_ptr<CommandRun>>> Engine::Start(std::shared_ptr<Sandbox> sandbox,
                                                        CommandRequest request, Client client,
                                                        Watcher* watcher, StepTimer steps) {
  const Turn turn = co_await TakeTurn(sandbox);
  const Limits& limits = sandbox->planned.limits;
  CLOCHE_CO_TRY(EndIfOutlived(*sandbox));
  if (sandbox->state == Sandbox::State::kEnded || sandbox->state == Sandbox::State::kGoing)
    co_return Fail(Code::kConflict,
                   fmt::format("run in {}: it has ended ({})", sandbox->id, sandbox->reason),
                   "make a new sandbox: cloche new");
  CLOCHE_CO_TRY(CheckAgent(*sandbox, request));
  if (uint64_t budget = limits.commands.value_or(0);
      budget != 0 && sandbox->commands_started >= budget)
    co_return Fail(
        Code::kExhausted,
        fmt::format("run in {}: its budget of {} commands is used up", sandbox->id, budget),
        "make a new sandbox, or a larger budget with --commands");
  const bool woken = sandbox->state == Sandbox::State::kStopped;
  CLOCHE_CO_TRY(co_await Awaken(sandbox, client, &steps));
  CLOCHE_CO_TRY(co_await RenewAuthority(sandbox, client));
  if (sandbox->request.snapshot_commands && sandbox->keep) {
    SnapshotRequest unnamed;
    auto saved = co_await SaveState(sandbox, std::move(unnamed), SnapshotKind::kCommand, &steps);
    if (!saved) co_return std::unexpected(saved.error());
  }
  auto command = MakeCommand(*sandbox, std::move(request), watcher, std::move(steps));
  co_await MakeWay(sandbox);
  CLOCHE_CO_TRY(sandbox->Start(command, ImageOf(command->request(), *sandbox)));
  // It runs all the same: it may be what mends them.
  if (woken)
    for (const auto& service : sandbox->services)
      if (service->state != Service::State::kReady)
        command->Tell(
            FrameType::kNotice,
            {{"kind", "service"},
             {"message", fmt::format("service {} does not run: {}; see cloche services {}",
                                     service->request.name, service->reason, sandbox->id)}});
  LimitWallTime(sandbox, command);
  // The count matters on disk only where it is a budget: a sync costs milliseconds.
  if (limits.commands.value_or(0) != 0) CLOCHE_CO_TRY(Save(*sandbox));
  co_return command;
}

std::shared_ptr<CommandRun> Engine::MakeCommand(const Sandbox& sandbox, CommandRequest request,
                                                Watcher* watcher, StepTimer steps) {
  const Limits& limits = sandbox.planned.limits;
  if (sandbox.network) sandbox.network->told.clear();
  request.env = FilterEnvironment(request.env, request.env_names).kept;
  if (!request.env.empty())
    request.env = JoinEnvironments({request.env, request.env_names},
                                   {sandbox.request.env, sandbox.request.env_names});
  uint32_t number = static_cast<uint32_t>(sandbox.commands_started + 1);
  // Nobody asked for a limit: what is relayed to a client is never cut, or `... > file` would be.
  uint64_t output = watcher && !sandbox.request.limits.output
                        ? request.output.value_or(0)
                        : request.output.value_or(limits.output.value_or(0));
  LogFile log;
  log.path = fmt::format("{}/daemon/logs/{}-{}.log", directories_.state, sandbox.id, number);
  log.reader = sandbox.owner;
  auto command = std::make_shared<CommandRun>(io_, sandbox.id, number, std::move(request), output,
                                              std::move(log));
  command->steps() = std::move(steps);
  command->on_finish = [this, owner = sandbox.owner, id = sandbox.id, ended = command.get()] {
    if (std::string path = ended->output().log_path(); !path.empty()) logs_.Add(owner, path);
    SettleSoon(id);
  };
  if (watcher) command->Watch(watcher);
  return command;
}

Task<Status> Engine::Stop(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended) {
  EndLooks(*sandbox, {Code::kConflict, "look at " + sandbox->id + ": it was stopped meanwhile",
                      "ask again: cloche diff " + sandbox->id});
  const Turn turn = co_await TakeTurn(sandbox);
  if (sandbox->state == Sandbox::State::kGoing || sandbox->state == Sandbox::State::kUnreadable)
    co_return Status{};
  co_return co_await StopNow(sandbox, std::move(reason), ended);
}

Task<Status> Engine::StopNow(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended) {
  if (sandbox->state == Sandbox::State::kRunning) {
    sandbox->reason = reason;
    sandbox->stopping = true;  // who waits for it is told our reason, not that init is gone
    SpawnAnswer answer = co_await spawn_.Call(SpawnOp::kKill, sandbox->id);
    sandbox->stopping = false;
    if (answer.reply.value != 0 && !spawn_lost_)
      co_return Fail(Code::kInternal,
                     fmt::format("stop {}: {}", sandbox->id, answer.reply.operation));
    sandbox->Detach(reason);
  }
  sandbox->state = ended ? Sandbox::State::kEnded : Sandbox::State::kStopped;
  sandbox->reason = reason;
  if (!sandbox->keep) sandboxes_.erase(sandbox->id);
  co_return Save(*sandbox);
}

Task<void> Engine::NoteFull(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<CommandRun> command) {
  if (command->exit_status() == 0 || sandbox->state != Sandbox::State::kRunning) co_return;
  SpawnAnswer answer = co_await spawn_.Call(SpawnOp::kRoom, sandbox->id);
  MarkFull(*sandbox, answer.reply.flags, *command);
}

Task<Result<Json>> Engine::Discard(std::shared_ptr<Sandbox> sandbox,
                                   std::shared_ptr<CommandRun> command) {
  EndLooks(*sandbox, {Code::kNotFound, "look at " + sandbox->id + ": it was removed meanwhile",
                      "cloche ls shows the ones there are"});
  const Turn turn = co_await TakeTurn(sandbox);
  if (sandbox->state == Sandbox::State::kGoing)
    co_return Fail(Code::kNotFound, "remove " + sandbox->id + ": it is being removed already",
                   "cloche ls shows the ones there are");
  bool had_processes = sandbox->state == Sandbox::State::kRunning;
  sandbox->state = Sandbox::State::kGoing;
  sandbox->reason = "removed";
  (void)Save(*sandbox);  // a full disk must not keep anybody from removing things
  sandboxes_.erase(sandbox->id);
  SpawnAnswer answer = co_await spawn_.Call(SpawnOp::kDiscard, sandbox->id,
                                            command && had_processes ? kFlagSummary : 0);
  if (command) MarkFull(*sandbox, answer.reply.flags, *command);
  sandbox->Detach("its sandbox was removed");
  if (sandbox->network) sandbox->network->End(sandbox->keep);
  if (sandbox->keep)
    for (const Snapshot& snapshot : SnapshotsOf(*sandbox)) (void)co_await Forget(snapshot);
  if (sandbox->keep && answer.reply.value == 0 && !registry_.Remove(sandbox->id))
    unforgotten_.push_back(sandbox->id);
  if (sandbox->keep) RemoveLogs(sandbox->id);
  if (sandbox->keep) RemoveAuthorities(sandbox->id);
  if (answer.reply.value != 0) co_return std::unexpected(Explained(answer));
  co_return Json{{"added", answer.reply.added},
                 {"changed", answer.reply.changed},
                 {"deleted", answer.reply.deleted},
                 {"bytes", answer.reply.changed_bytes},
                 {"kept", false}};
}

Result<std::shared_ptr<Sandbox>> Engine::Find(const std::string& ref, const Client& client) const {
  auto found = FindAny(ref, client);
  if (found) CLOCHE_TRY(CheckReadable(**found));
  return found;
}

Result<std::shared_ptr<Sandbox>> Engine::FindAny(const std::string& ref,
                                                 const Client& client) const {
  std::vector<std::shared_ptr<Sandbox>> found;
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->owner != client.peer.uid) continue;
    if (id == ref || sandbox->name == ref) return sandbox;
    if (!ref.empty() && (id.starts_with(ref) || id.starts_with("sb_" + ref)))
      found.push_back(sandbox);
  }
  if (found.size() == 1) return found[0];
  if (found.size() > 1)
    return Fail(Code::kConflict,
                fmt::format("find sandbox: {} is the beginning of {} ids", EscapeForTerminal(ref),
                            found.size()),
                "give more of the id");
  std::vector<std::string> names;
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->owner == client.peer.uid)
      names.push_back(sandbox->name.empty() ? id : sandbox->name);
  const std::string near = NearestWord(ref, names);
  return Fail(Code::kNotFound, fmt::format("find sandbox: there is no {}", EscapeForTerminal(ref)),
              near.empty() ? "cloche ls shows the ones there are"
                           : fmt::format("did you mean {}? cloche ls shows all", near));
}

std::vector<std::shared_ptr<Sandbox>> Engine::List(const Client& client) const {
  std::vector<std::shared_ptr<Sandbox>> list;
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->owner == client.peer.uid) list.push_back(sandbox);
  std::ranges::sort(list, {}, [](const auto& sandbox) { return sandbox->created; });
  return list;
}

Json Engine::StatusJson(const Client& client) const {
  std::string statm;
  sys::ReadFileAt(AT_FDCWD, "/proc/self/statm", statm);
  long resident = 0;
  std::sscanf(statm.c_str(), "%*d %ld", &resident);
  return {{"id", "cloched"},
          {"version", CLOCHE_VERSION},
          {"mode", mode_ == Mode::kSystem ? "system" : "rootless"},
          {"pid", getpid()},
          {"uptime_s", Since(started_)},
          {"sandboxes", List(client).size()},
          {"egress", egress_.Describe()},
          {"state_dir", directories_.state},
          {"rss_bytes", resident * sysconf(_SC_PAGE_SIZE)}};
}

void Engine::InitExited(const SpawnReply& event) {
  auto found = sandboxes_.find(event.sandbox);
  if (found == sandboxes_.end()) return;
  std::shared_ptr<Sandbox> sandbox = found->second;
  if (sandbox->state != Sandbox::State::kRunning || sandbox->stopping) return;
  // Nobody asked for it: the kernel's OOM killer took init, or something inside found a way.
  std::string why = "its init ended unexpectedly";
  if (sandbox->WasOutOfMemory()) why = "killed: memory limit";
  sandbox->state = Sandbox::State::kStopped;
  sandbox->reason = why;
  sandbox->Detach(why);
  if (!sandbox->keep) sandboxes_.erase(found);
  (void)Save(*sandbox);
}

void Engine::SpawnLost() {
  spawn_lost_ = true;
  auto all = sandboxes_;
  for (auto& [id, sandbox] : all) {
    if (sandbox->state != Sandbox::State::kRunning) continue;
    sandbox->state = Sandbox::State::kStopped;
    sandbox->reason = "cloche-spawn died while it ran";
    sandbox->Detach(sandbox->reason);
    (void)Save(*sandbox);
    if (!sandbox->keep) sandboxes_.erase(id);
  }
  io_.stop();  // the next CLI call starts both anew
}

void Engine::Close() {
  closed_ = true;
  for (auto& [id, sandbox] : sandboxes_) {
    if (sandbox->state != Sandbox::State::kRunning) continue;
    sandbox->state = Sandbox::State::kStopped;
    sandbox->reason = "cloched was stopped";
    (void)Save(*sandbox);
    sandbox->Detach(sandbox->reason);
  }
  vault_.KeepCounts();
}

void Engine::StartHousekeeping(std::chrono::seconds leave_after, std::function<void()> leave) {
  asio::co_spawn(io_, Housekeeping(leave_after, std::move(leave)), kDetached);
}

void Engine::KeepHouse() {
  EnforceTimes();
  sys::RefillWatches();
  ObserveClock();
  egress_.CheckHost();
  vault_.KeepCounts();
  ForgetOldValues();
  std::erase_if(unforgotten_,
                [&](const std::string& id) { return registry_.Remove(id).has_value(); });
  if (!undropped_.empty()) {  // one at a time: the disk may stay full for long
    asio::co_spawn(io_, DropFiles(std::move(undropped_.front())), kDetached);
    undropped_.pop_front();
  }
}

Task<void> Engine::Housekeeping(std::chrono::seconds leave_after, std::function<void()> leave) {
  asio::steady_timer timer(io_);
  for (;;) {
    timer.expires_after(std::chrono::milliseconds(200));
    co_await timer.async_wait(kAwait);
    // Limits in time hold also after a bug in one of these.
    try {
      KeepHouse();
    } catch (...) {
      RecordException(std::current_exception(), "keep house");
    }
    bool busy = clients_.use_count() > 1;
    for (const auto& [id, sandbox] : sandboxes_)
      busy |= sandbox->state == Sandbox::State::kRunning ||
              (sandbox->planned.plan.in_memory && sandbox->state == Sandbox::State::kStopped);
    // What a crowd of sandboxes used goes back to the machine when they are gone.
    if (!busy && trimmed_ < last_busy_) {
      malloc_trim(0);
      trimmed_ = Clock::now();
    }
    if (busy) last_busy_ = Clock::now();
    if (!busy && Clock::now() - last_busy_ > leave_after) {
      leave();
      co_return;
    }
  }
}

}  // namespace cloche::daemon
