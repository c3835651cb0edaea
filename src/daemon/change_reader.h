#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/time_travel.h"
#include "daemon/turn.h"
#include "policy/request.h"

namespace cloche::daemon {

// What a sandbox, or a snapshot of it, changed: cloche-diff or cloche-promote reads a state that
// does not change meanwhile, and writes its answer into a pipe.
class ChangeReader {
 public:
  ChangeReader(asio::io_context& io, Machine& machine, SandboxTable& table,
               SnapshotTable& snapshots, Spawn& spawn, TimeTravel& time_travel)
      : io_(io),
        machine_(machine),
        table_(table),
        snapshots_(snapshots),
        spawn_(spawn),
        time_travel_(time_travel) {}

  // The state stays as it is while this is held. It ends early when the client goes away, and when
  // the sandbox is stopped or removed, which then need not wait for it.
  class Reading;
  Task<Result<std::shared_ptr<Reading>>> Start(std::shared_ptr<Sandbox> sandbox,
                                               LookRequest request, Client client);
  Task<Status> Finish(std::shared_ptr<Reading> reading);

  // What was said, or how it begins: then the rest comes from the reading, which is to be finished.
  struct Said {
    std::string text;
    std::shared_ptr<Reading> rest;
  };
  // Reads until there is as much as `most`, or no more.
  Task<Result<Said>> Ask(std::shared_ptr<Sandbox> sandbox, LookRequest request, Client client,
                         size_t most);
  Task<Result<Json>> AskWhole(std::shared_ptr<Sandbox> sandbox, LookRequest request, Client client);
  static Result<Json> Parse(const Sandbox& sandbox, const std::string& text);

  // What changed outside since it was made: {changed, paths, both, both_paths, age_s, ...}.
  // With `guard` also, whole and in base64, what both changed: {guarded}.
  Task<Result<Json>> Staleness(std::shared_ptr<Sandbox> sandbox, Client client, bool guard = false);

  // A promotion moves what renamed directories inside still show of reality: it is copied first.
  // `states`: snapshots, and "" for what the sandbox holds now. It may take long, so it ends like a
  // diff, when the client goes or the sandbox is stopped.
  Task<Status> Flatten(std::shared_ptr<Sandbox> sandbox, LookRequest asked,
                       std::vector<std::string> states, Client client);
  // Of other states of the owner's: what shows the content of directories that `promoted` takes
  // away. Snapshots, and "" for what a sandbox holds now.
  std::vector<std::string> OtherStatesOf(const Sandbox& each, const Sandbox& promoted) const;

  // Ends the readings that keep somebody else from his turn.
  void EndAll(const Sandbox& sandbox, const Error& why);

 private:
  Task<Result<std::string>> ResolveOther(std::shared_ptr<Sandbox> sandbox, std::string ref,
                                         Client client, Reading& reading);
  Task<Result<std::string>> Prepare(std::shared_ptr<Reading> reading, const LookRequest& request);
  Result<sys::Fd> PlanOf(const Sandbox& sandbox, const Client& client);
  Json QuestionOf(const Reading& reading, const LookRequest& request, const std::string& state);
  Status Send(Reading& reading, const LookRequest& request, const Client& client,
              const std::string& state, const std::string& other);
  Task<Status> CopyRenamed(std::shared_ptr<Reading> reading, LookRequest asked,
                           std::vector<std::string> states, Client client);
  Task<Status> FlattenOwn(std::shared_ptr<Sandbox> sandbox, LookRequest request, Client client);
  bool HasOthers(const Sandbox& sandbox) const;
  void WatchClient(const std::shared_ptr<Reading>& reading, const Client& client);
  static Task<void> ReleaseWhenDone(std::shared_ptr<Reading> reading);
  static void Release(Reading& reading);
  void End(Reading& reading, Error why);
  Error WhyFailed(Reading& reading, const SpawnAnswer& answer);

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  SnapshotTable& snapshots_;
  Spawn& spawn_;
  TimeTravel& time_travel_;
  std::vector<std::weak_ptr<Reading>> readings_;
};

class ChangeReader::Reading {
 public:
  explicit Reading(asio::io_context& io) : answer(io), client(io) {}
  asio::posix::stream_descriptor answer;

 private:
  friend class ChangeReader;
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
  std::shared_ptr<Spawn::Waiting> waiting;
};

}  // namespace cloche::daemon
