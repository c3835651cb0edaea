#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/egress_link.h"
#include "daemon/facts.h"
#include "daemon/log_budget.h"
#include "daemon/plan_memory.h"
#include "daemon/registry.h"
#include "daemon/sandbox.h"
#include "daemon/snapshot.h"
#include "daemon/spawn_link.h"
#include "daemon/vault.h"
#include "egress/rule.h"
#include "policy/request.h"
#include "policy/secret_request.h"
#include "policy/snapshot_request.h"

namespace cloche::daemon {

// Who asks, and the socket that proves it.
struct Client {
  sys::PeerIdentity peer;
  int socket = -1;
};

// A command that is started with its sandbox, in one round trip.
struct FirstCommand {
  CommandRequest request;
  Watcher* watcher = nullptr;
  std::shared_ptr<CommandRun> command;  // set when the sandbox was made
};

// While it is held nobody else saves, restores, starts or ends the sandbox.
class Turn {
 public:
  Turn(asio::io_context& io, std::shared_ptr<Sandbox> sandbox);
  Turn(Turn&&) = default;
  Turn(const Turn&) = delete;
  Turn& operator=(Turn&&) = delete;
  ~Turn();

 private:
  std::shared_ptr<Sandbox> sandbox_;
};

// A sandbox serves one agent, and so does a fresh twin of it.
Status CheckAgent(const Sandbox& sandbox, const CommandRequest& request);

const SecretGrant* GrantOf(const NetworkRequest& network, const std::string& secret);
std::set<std::string> MaskedIds(const NetworkRequest& network);  // of all it was ever granted
// A secret has been granted for where this rule leads.
bool HasBeenSent(const NetworkRequest& network, const egress::Rule& rule);
// Whether its hosts are what the rule is about.
bool MayGoTo(const SecretInfo& secret, const egress::Rule& rule);
bool NeedsAuthority(const Json& rules);  // as cloche-egress reads them: some are about requests

std::string NewId(const char* prefix);
void DrawDecoys(CanaryRequest& canaries);

// Nobody works with what has a record that cannot be read.
Status CheckReadable(const Sandbox& sandbox);
Status CheckReadable(const Snapshot& snapshot);

// What is kept is kept: only a life that was asked for ends it.
void LiveOn(SandboxRequest& request);

// The life of all sandboxes: made, used, stopped, ended, removed, found again after a crash.
class Engine {
 public:
  Engine(asio::io_context& io, Mode mode, Directories directories, SpawnLink& spawn,
         Registry& registry);

  Status Load();  // what an earlier daemon left; records that cannot be read are set aside
  Task<Status> Reconcile();  // saved states on disk with those on record
  void Close();              // records what is about to be ended
  void StartHousekeeping(std::chrono::seconds leave_after, std::function<void()> leave);

  Task<Result<std::shared_ptr<Sandbox>>> Create(SandboxRequest request, bool keep, Client client,
                                                StepTimer* steps = nullptr,
                                                FirstCommand* first = nullptr);
  Task<Result<std::shared_ptr<CommandRun>>> Start(std::shared_ptr<Sandbox> sandbox,
                                                  CommandRequest request, Client client,
                                                  Watcher* watcher = nullptr, StepTimer steps = {});
  Task<Status> Stop(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended = false);
  // Kill, count changes if its last command wants to know, remove its files and its row.
  Task<Result<Json>> Discard(std::shared_ptr<Sandbox> sandbox,
                             std::shared_ptr<CommandRun> command = nullptr);
  // Whether a command that failed met a limit of files or bytes.
  Task<void> NoteFull(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<CommandRun> command);
  Task<Result<Json>> Explain(SandboxRequest request, Client client);

  // time_travel.cc
  Task<Result<Snapshot>> TakeSnapshot(std::shared_ptr<Sandbox> sandbox, SnapshotRequest request,
                                      SnapshotKind kind, StepTimer* steps = nullptr);
  // Answers {id, rolled_back_to, kept_as, ...}.
  Task<Result<Json>> Rollback(std::shared_ptr<Sandbox> sandbox, RollbackRequest request);
  using Sandboxes = std::vector<std::shared_ptr<Sandbox>>;
  Task<Result<Sandboxes>> Fork(std::shared_ptr<Sandbox> parent, ForkRequest request, Client client);
  Task<Result<Sandboxes>> Fork(Snapshot snapshot, ForkRequest request, Client client);
  Task<Status> DropSnapshot(Snapshot snapshot);
  Result<Snapshot> RenameSnapshot(const Snapshot& snapshot, const SnapshotRequest& request);
  // services.cc
  // Their data is in place. They are part of the sandbox from now on.
  Task<Status> AddServices(std::shared_ptr<Sandbox> sandbox, std::vector<ServiceRequest> services,
                           Client client);
  // Starts the sandbox if it is stopped, and its services, and waits for them.
  Task<Status> Wake(std::shared_ptr<Sandbox> sandbox, Client client);
  Task<Status> RestartService(std::shared_ptr<Sandbox> sandbox, std::string name, Client client);
  // network.cc
  Task<Status> ChangeNetwork(std::shared_ptr<Sandbox> sandbox, NetworkChange change, Client client);
  Json NetworkJson(Sandbox& sandbox);
  std::shared_ptr<SandboxNetwork> NetworkOf(Sandbox& sandbox);
  // signing.cc
  Task<Status> ChangeSigning(std::shared_ptr<Sandbox> sandbox, SigningChange change, Client client);
  Json SigningJson(const Sandbox& sandbox) const;
  // A connection to a port on its loopback.
  Task<Result<sys::Fd>> ConnectInto(std::shared_ptr<Sandbox> sandbox, uint16_t port, Client client);
  // secrets.cc
  Task<Status> SetSecret(std::string name, SecretRequest request, Client client);
  Task<Status> RotateSecret(std::string name, std::string value, Client client);
  Task<Status> RemoveSecret(std::string name, Client client);
  Result<Json> SecretsJson(const Client& client, const std::string& only = "");
  // look.cc: what a sandbox, or a snapshot of it, changed. `answer` gets what cloche-diff writes;
  // the state stays as it is while this is held. It ends early when the client goes away, and when
  // the sandbox is stopped or removed, which then need not wait for it.
  class Look;
  Task<Result<std::shared_ptr<Look>>> StartLook(std::shared_ptr<Sandbox> sandbox,
                                                LookRequest request, Client client);
  Task<Status> FinishLook(std::shared_ptr<Look> look);
  // What was said, or how it begins: then the rest comes from the look, which is to be finished.
  struct Said {
    std::string text;
    std::shared_ptr<Look> rest;
  };
  // Lifts it into reality, by cloche-promote: its answer.
  Task<Result<Said>> Promote(std::shared_ptr<Sandbox> sandbox, LookRequest request, Client client);
  // Reality was changed: the client's running sandboxes see it as it is now. Not `unless`, whose
  // own promotion it was.
  Task<Status> ShowReality(Client client, std::shared_ptr<Sandbox> unless = nullptr);
  // Another cloche.toml binds its promotions from now on.
  Status PinProjectFile(Sandbox& sandbox, std::string text);
  // What changed outside since it was made: {changed, paths, both, both_paths, age_s, ...}.
  // With `guard` also, whole and in base64, what both changed: {guarded}.
  Task<Result<Json>> Staleness(std::shared_ptr<Sandbox> sandbox, Client client, bool guard = false);
  Task<Result<Json>> Refresh(std::shared_ptr<Sandbox> sandbox, Client client);
  std::vector<Snapshot> SnapshotsOf(const Sandbox& sandbox) const;  // oldest first
  Result<Snapshot> FindSnapshot(const std::string& ref, const Client& client) const;

  Result<std::shared_ptr<Sandbox>> Find(const std::string& ref, const Client& client) const;
  // Also one whose record cannot be read.
  Result<std::shared_ptr<Sandbox>> FindAny(const std::string& ref, const Client& client) const;
  // Of whoever asks: [{id, name, reason, remove: the command that does}]. Sandboxes and snapshots.
  Json UnreadableJson(const Client& client) const;
  std::vector<std::shared_ptr<Sandbox>> List(const Client& client) const;
  Json StatusJson(const Client& client) const;
  const HostFacts& facts();
  const HostFacts& FreshFacts();  // also what changes without a sign: sysctls
  const sys::CgroupHost& cgroups() const { return cgroups_; }
  bool spawn_lost() const { return spawn_lost_; }
  bool closed() const { return closed_; }  // no request is begun any more: the next daemon is asked
  const std::string& state_directory() const { return directories_.state; }
  uint32_t spawn_flags() const { return spawn_.ready_flags(); }
  // The client counts for as long as this is held. It may outlive us: when the daemon leaves,
  // those who are still served are destroyed last, with `io`.
  [[nodiscard]] std::shared_ptr<const void> ClientCame() {
    last_busy_ = std::chrono::steady_clock::now();
    return clients_;
  }
  Mode mode() const { return mode_; }
  asio::io_context& io() { return io_; }
  Status Save(const Sandbox& sandbox);

 private:
  Task<Status> Launch(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps,
                      FirstCommand* first = nullptr);
  // The first command's image, as init takes it.
  Command ImageOf(const CommandRequest& request, const Sandbox& sandbox) const;
  void ServeNetworks();
  void GuardLater(Sandbox& sandbox);  // when it is granted something
  // It runs, and nothing in it yet.
  Task<Status> StartGuarded(std::shared_ptr<Sandbox> sandbox, Client client, FirstCommand* first);
  Task<Status> OpenSigning(std::shared_ptr<Sandbox> sandbox, Client client);
  // The keys that `wanted` names are in force when it returns.
  Task<Status> SetSigning(std::shared_ptr<Sandbox> sandbox, SigningRequest wanted);
  void CloseSigning(Sandbox& sandbox);
  void SignatureEvent(Sandbox& sandbox, const Json& event);
  Task<Status> OpenNetwork(std::shared_ptr<Sandbox> sandbox, Client client);
  void CloseNetwork(Sandbox& sandbox);
  void TakeRefusals(Sandbox& sandbox, SandboxNetwork& network);
  Task<void> WatchRefusals(std::weak_ptr<Sandbox> weak, std::shared_ptr<SandboxNetwork> network);
  void NetworkEvent(Sandbox& sandbox, SandboxNetwork& network, const Json& event);
  Task<Result<SpawnAnswer>> AskInside(std::shared_ptr<Sandbox> sandbox, SpawnOp op,
                                      uint64_t argument, Client client, int memory = -1);
  void AddNetworkVariables(const Sandbox& sandbox, std::vector<std::string>& env) const;
  // As cloche-egress reads them. All of them are checked, also those that have expired.
  Result<Json> CompileNetwork(const NetworkRequest& network, uint32_t owner) const;
  Status GrantSecrets(NetworkRequest& network, uint32_t owner);
  Task<Status> KeepSecret(SecretInfo info, std::string& value);
  Status CheckHolders(uint32_t owner, const std::string& name, const std::string& value) const;
  SecretValues ValuesFor(const Sandbox& sandbox) const;
  std::vector<MaskedValue> MaskedFor(const Sandbox& sandbox) const;
  bool IsMasked(uint32_t owner, const std::string& name) const;
  void ForgetOldValues();
  Task<void> SecretChanged(uint32_t owner, std::string name);
  void CountSecretUses(uint32_t owner, const Json& event);
  void AddSecretVariables(const Sandbox& sandbox, std::vector<std::string>& env) const;
  // trust.cc
  std::string AuthorityPath(const std::string& id) const;
  Result<Authority> AuthorityOf(Sandbox& sandbox);  // makes it where there is none
  Task<Status> LayTrust(std::shared_ptr<Sandbox> sandbox, Authority authority, Client client);
  // The sandbox believes it from now on; the answer is for cloche-egress.
  Task<Result<Json>> PrepareAuthority(std::shared_ptr<Sandbox> sandbox, Client client);
  Task<Status> GiveAuthority(std::shared_ptr<Sandbox> sandbox,
                             Client client);  // its border is open
  Task<Status> RenewAuthority(std::shared_ptr<Sandbox> sandbox, Client client);
  void RemoveAuthorities(const std::string& id);  // "" = those of nobody
  void AddTrustVariables(const Sandbox& sandbox, const std::vector<std::string>& named,
                         std::vector<std::string>& env) const;
  // While it is our turn: starts what is stopped.
  Task<Status> Awaken(std::shared_ptr<Sandbox> sandbox, Client client, StepTimer* steps);
  // Returns when each answers, has failed, or has had its time.
  Task<void> StartServices(std::shared_ptr<Sandbox> sandbox);
  Status StartService(const std::shared_ptr<Sandbox>& sandbox, Service& service);
  Task<void> Supervise(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<Service> service);
  Task<Turn> TakeTurn(std::shared_ptr<Sandbox> sandbox);
  // These while it is our turn.
  Task<Status> StopNow(std::shared_ptr<Sandbox> sandbox, std::string reason, bool ended);
  Task<Result<Snapshot>> SaveState(std::shared_ptr<Sandbox> sandbox, SnapshotRequest request,
                                   SnapshotKind kind, StepTimer* steps);
  Task<Status> Forget(Snapshot snapshot);
  struct Dropped {
    std::string sandbox, snapshot;
  };
  Status ForgetRecord(Snapshot snapshot);
  Task<Status> DropFiles(Dropped dropped);  // tried again if it fails
  void DropLater(const Snapshot& snapshot);
  Task<Result<Sandboxes>> Copy(std::shared_ptr<Sandbox> parent, Snapshot snapshot,
                               ForkRequest request, Client client);
  void Unlink(const Snapshot& snapshot);  // from the tree
  Result<Snapshot> ChooseSnapshot(const Sandbox& sandbox, const RollbackRequest& request) const;
  // Reads until there is as much as `most`, or no more.
  Task<Result<Said>> Ask(std::shared_ptr<Sandbox> sandbox, LookRequest request, Client client,
                         size_t most);
  Task<Result<Json>> AskWhole(std::shared_ptr<Sandbox> sandbox, LookRequest request, Client client);
  static Result<Json> ParseSaid(const Sandbox& sandbox, const std::string& text);
  Task<Result<std::string>> ResolveOther(std::shared_ptr<Sandbox> sandbox, std::string ref,
                                         Client client, Look& look);
  Task<Result<std::string>> PrepareLook(std::shared_ptr<Look> look, const LookRequest& request);
  Result<sys::Fd> PlanOfLook(const Sandbox& sandbox, const Client& client);
  Task<Status> Flatten(std::shared_ptr<Sandbox> sandbox, LookRequest asked,
                       std::vector<std::string> states, Client client);
  Task<Status> CopyRenamed(std::shared_ptr<Look> look, LookRequest asked,
                           std::vector<std::string> states, Client client);
  // Of the same owner: what may show the content of a directory that `promoted` takes away.
  // Snapshots, and "" for what a sandbox holds now.
  std::vector<std::string> OtherStatesOf(const Sandbox& each, const Sandbox& promoted) const;
  bool HasOthers(const Sandbox& sandbox) const;
  Task<Status> FlattenOthers(std::shared_ptr<Sandbox> sandbox, Json directories, Client client);
  Status SendLook(Look& look, const LookRequest& request, const Client& client,
                  const std::string& state, const std::string& other);
  void WatchClient(const std::shared_ptr<Look>& look, const Client& client);
  static Task<void> ReleaseWhenDone(std::shared_ptr<Look> look);
  static void Release(Look& look);
  void EndLook(Look& look, Error why);
  void EndLooks(const Sandbox& sandbox, const Error& why);
  Error WhyLookFailed(Look& look, const SpawnAnswer& answer);
  Task<void> Prune(std::shared_ptr<Sandbox> sandbox);
  void PruneLater(std::shared_ptr<Sandbox> sandbox);
  Status CheckNewNames(const std::vector<std::string>& names, size_t count,
                       const Client& client) const;
  Error Explained(const SpawnAnswer& answer);
  Registry::Row RowOf(const Sandbox& sandbox) const;
  static bool HasRecord(const Sandbox& sandbox);
  Result<std::shared_ptr<Sandbox>> ReadRow(const Registry::Row& row);
  std::shared_ptr<Sandbox> SetAside(const Registry::Row& row, const std::string& why);
  std::shared_ptr<Sandbox> MakeSandbox(const std::string& id, uint32_t owner);
  std::shared_ptr<CommandRun> MakeCommand(const Sandbox& sandbox, CommandRequest request,
                                          Watcher* watcher, StepTimer steps);
  void LimitWallTime(const std::shared_ptr<Sandbox>& sandbox,
                     const std::shared_ptr<CommandRun>& command);
  // What the password database says, as old as the other facts.
  struct KnownPerson {
    UserFacts account;
    std::vector<std::string> other_homes;
  };
  const KnownPerson& Person(uint32_t uid);
  UserFacts FactsOf(const sys::PeerIdentity& peer);
  void RemoveLogs(const std::string& id);  // "" = those nobody needs any more
  Task<void> RemoveRest(std::string id);
  Result<Planned> Plan(const SandboxRequest& request, const UserFacts& user, std::string id);
  void InitExited(const SpawnReply& event);
  void SpawnLost();
  Task<void> Housekeeping(std::chrono::seconds leave_after, std::function<void()> leave);
  void KeepHouse();  // what is to be done now and then
  void EnforceTimes();
  Status EndIfOutlived(Sandbox& sandbox);  // one that is stopped
  void EndLater(const std::string& id, const char* limit, const std::string& reason);
  void SaveLater(std::shared_ptr<Sandbox> sandbox);
  void ObserveClock();                                                            // birth.cc
  Task<void> PassTick(int64_t moment_ns);                                         // birth.cc
  void NoteBirth(const std::shared_ptr<Sandbox>& sandbox, const Client& client);  // birth.cc
  Task<void> TakeNotes();
  void StopLater(std::shared_ptr<Sandbox> sandbox, std::string reason);
  void SettleSoon(const std::string& id);  // settle.cc
  // What starts next gets a memory group of its own, if it would share one. memory_groups.cc
  Task<void> MakeWay(std::shared_ptr<Sandbox> sandbox);
  Task<void> Settle();

  asio::io_context& io_;
  Mode mode_;
  Directories directories_;
  SpawnLink& spawn_;
  Registry& registry_;
  sys::CgroupHost cgroups_;
  HostWatch watch_;
  HostFacts facts_;
  EgressLink egress_;
  Vault vault_;
  LogBudget logs_;
  PlanMemory plans_;
  std::map<uint32_t, KnownPerson> people_;
  int64_t people_stamp_ = 0;
  std::vector<std::string> unforgotten_;  // removed, but the full disk still says otherwise
  std::chrono::steady_clock::time_point last_busy_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point trimmed_{};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::map<std::string, std::shared_ptr<Sandbox>> sandboxes_;
  std::map<std::string, Snapshot> snapshots_;
  std::vector<std::weak_ptr<Look>> looks_;
  struct Note {
    std::weak_ptr<Sandbox> sandbox;
    sys::PeerIdentity peer;
    sys::Fd socket;
  };
  std::deque<Note> notes_;  // to be taken; the first is being taken
  std::shared_ptr<const void> clients_ = std::make_shared<int>();
  std::set<std::string> unsettled_;  // saved before, and a command has ended since
  bool settling_ = false;
  std::chrono::steady_clock::time_point settle_again_{};  // not sooner
  std::deque<Dropped> undropped_;  // without a record, but the full disk still has the files
  bool spawn_lost_ = false;
  bool closed_ = false;
};

class Engine::Look {
 public:
  explicit Look(asio::io_context& io) : answer(io), client(io) {}
  asio::posix::stream_descriptor answer;

 private:
  friend class Engine;
  std::shared_ptr<Sandbox> sandbox;
  asio::posix::stream_descriptor client;  // hangs up when nobody waits for the answer
  sys::Fd complaint;                      // why it failed
  bool in_turn = false;                   // has or wants its turn
  bool promotes = false;                  // and so is never cut short
  std::optional<Turn> turn;
  std::optional<Error> ended;  // early
  bool paused = false;
  bool freeze = false;            // spawn lets it stand still
  bool few = false;               // and only if little changed
  bool too_much = false;          // it was more
  bool renamed = false;           // directories inside depend on what a promotion moves
  std::vector<Snapshot> passing;  // taken for this, removed afterwards
  std::shared_ptr<SpawnLink::Waiting> waiting;
};

}  // namespace cloche::daemon
