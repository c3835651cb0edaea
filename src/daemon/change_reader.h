#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/time_travel.h"
#include "daemon/turn.h"
#include "policy/change_request.h"

namespace cloche::daemon {

// A helper that reads a state of a sandbox and writes its answer into a pipe. The state stays
// unchanged while this is held.
class Reading {
 public:
  Reading(asio::io_context& io, std::shared_ptr<Sandbox> of)
      : answer(io), sandbox(std::move(of)), client(io) {}
  asio::posix::stream_descriptor answer;

 private:
  friend class ChangeReader;
  friend class Promotions;
  // Gives back its turn, and resumes what it stopped.
  void Release();

  std::shared_ptr<Sandbox> sandbox;
  asio::posix::stream_descriptor client;  // hangs up if nobody waits for the answer
  sys::Fd complaint;                      // why it failed
  bool in_turn = false;                   // holds or wants its turn
  bool can_end = true;                    // false while it applies something
  std::optional<Turn> turn;
  std::optional<Error> ended;  // set if it was ended early
  bool paused = false;
  std::vector<Snapshot> passing;  // taken for this, removed afterwards
  std::shared_ptr<Spawn::Waiting> waiting;
};

// Reads what a sandbox or its snapshot changed, and what changed outside meanwhile, through
// cloche-diff with the caller's rights.
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

  // Ends early if the client goes away, or if the sandbox is stopped or removed, so that nobody
  // waits for it.
  Task<Result<std::shared_ptr<Reading>>> StartDiff(std::shared_ptr<Sandbox> sandbox,
                                                   DiffRequest request, Client client);
  Task<Status> Finish(std::shared_ptr<Reading> reading);

  // Reports what changed outside since the sandbox was made: {changed, paths, both, both_paths,
  // age_s, ...}. With `guard` also the complete list, in base64, of what both sides changed:
  // {guarded}.
  Task<Result<Json>> Staleness(std::shared_ptr<Sandbox> sandbox, Client client, bool guard = false);

  // Records what is known about its project now: {project, commit, dirty, names}.
  Task<Result<Json>> NoteBirth(std::shared_ptr<Sandbox> sandbox, Client client);

  // Ends the readings that keep others waiting for their turn.
  void EndAll(const Sandbox& sandbox, const Error& why);

  // For promotions, which read with cloche-promote.
  std::shared_ptr<Reading> Begin(const std::shared_ptr<Sandbox>& sandbox);
  void WatchClient(const std::shared_ptr<Reading>& reading, const Client& client);
  // Resolves the requested snapshot.
  Result<std::string> Choose(const Sandbox& sandbox, const std::string& snapshot);
  // Takes a snapshot of this moment, removed when the reading is finished.
  Task<Result<std::string>> SavePassing(std::shared_ptr<Reading> reading,
                                        std::shared_ptr<Sandbox> sandbox);
  // Plans the sandbox as of now, for spawn to open its layers.
  Result<sys::Fd> PlanOf(const Sandbox& sandbox, const Client& client);
  // The part of a question that every helper needs.
  Json QuestionOf(const Sandbox& sandbox, const std::string& state);
  // Sends the question and the pipes: descriptors of ask::Diff and the like, after `fds`.
  template <typename Body>
  Status Send(Reading& reading, const Body& body, std::vector<int> fds, const Json& question);
  // Reads all that a helper says, as JSON.
  Task<Result<Json>> ReadWhole(std::shared_ptr<Reading> reading);
  static Result<Json> Parse(const Sandbox& sandbox, const std::string& text);

 private:
  struct Pipes {
    sys::Fd answer, question, complaint;
  };
  Result<Pipes> Open(Reading& reading, const Json& question);
  Task<Result<std::string>> ResolveOther(std::shared_ptr<Reading> reading, std::string ref,
                                         Client client);
  Task<Result<std::string>> PrepareDiff(std::shared_ptr<Reading> reading, DiffRequest request);
  Task<Status> SendDiff(std::shared_ptr<Reading> reading, DiffRequest request, Client client);
  static Task<void> ReleaseWhenDone(std::shared_ptr<Reading> reading);
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

// Spawn has copies of the descriptors once the request is sent.
template <typename Body>
Status ChangeReader::Send(Reading& reading, const Body& body, std::vector<int> fds,
                          const Json& question) {
  ASSIGN_OR_RETURN(const Pipes pipes, Open(reading, question));
  fds.insert(fds.end(), {pipes.answer.get(), pipes.question.get(), pipes.complaint.get()});
  reading.waiting = spawn_.Send(reading.sandbox->id, body, fds);
  return {};
}

}  // namespace cloche::daemon
