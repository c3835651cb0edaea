#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/change_reader.h"

namespace cloche::daemon {

// Applies a sandbox's changes to reality, through cloche-promote.
class Promotions {
 public:
  Promotions(asio::io_context& io, Machine& machine, SandboxTable& table, SnapshotTable& snapshots,
             Spawn& spawn, ChangeReader& reader)
      : io_(io),
        machine_(machine),
        table_(table),
        snapshots_(snapshots),
        spawn_(spawn),
        reader_(reader) {}

  // The answer of cloche-promote, or its beginning; the rest then comes from the reading, which
  // must be finished.
  struct Said {
    std::string text;
    std::shared_ptr<Reading> rest;
  };
  // A user's promotions and undos run one at a time. While another one runs, the sandbox keeps
  // running; it is frozen only to be read.
  Task<Result<Said>> Promote(std::shared_ptr<Sandbox> sandbox, PromotionRequest request,
                             Client client);
  // After reality has changed, makes the client's running sandboxes show it as it is now. Skips
  // `unless`, whose own promotion it was.
  Task<Status> ShowReality(Client client, std::shared_ptr<Sandbox> unless = nullptr);
  // Before an undo takes these directories of reality away, copies their content into those of the
  // client's sandboxes and snapshots that show it under a name of their own.
  Task<Status> FlattenBeforeUndo(std::vector<std::string> directories, Client client);
  // Makes this cloche.toml bind its promotions from now on.
  Status PinProjectFile(Sandbox& sandbox, std::string text);

 private:
  // Findings of earlier tries that change the next one.
  struct Attempt {
    bool much = false;              // more changes than can be read while the sandbox is frozen
    int flattened = 0;              // how often its renamed directories were copied
    bool others_flattened = false;  // and those of other sandboxes whose content it takes
  };
  struct Stance {
    std::string state;    // the snapshot to read; "" = the sandbox itself
    bool freeze = false;  // spawn freezes it
    bool few = false;     // but only if little changed
  };
  Task<Result<Said>> Try(std::shared_ptr<Sandbox> sandbox, PromotionRequest request,
                         Attempt& attempt, Client client);
  Task<Result<Stance>> HoldStill(std::shared_ptr<Reading> reading, std::string snapshot, bool much);
  Status Send(Reading& reading, const PromotionRequest& request, const Stance& stance,
              const Attempt& attempt, const Client& client);
  Task<Result<Said>> ReadAnswer(std::shared_ptr<Reading> reading, bool frozen, Client client);

  // flatten.cc. A promotion moves content that renamed directories inside still show from reality,
  // so that content is copied first. `states`: snapshots, and "" for the sandbox's current state.
  // It may take long, so it ends like a diff if the client goes or the sandbox is stopped.
  Task<Status> Flatten(std::shared_ptr<Sandbox> sandbox, std::vector<std::string> paths,
                       std::vector<std::string> states, Client client);
  Task<Status> FlattenState(std::shared_ptr<Reading> reading, int plan, int paths,
                            std::string state, Client client);
  Task<Status> FlattenOwn(std::shared_ptr<Sandbox> sandbox, PromotionRequest request,
                          Client client);
  // Which states may show what a promotion or an undo takes away: all of the owner's but what
  // `promoted` holds now.
  struct Others {
    uint32_t owner = 0;
    const Sandbox* promoted = nullptr;
  };
  Task<Status> FlattenOthers(const char* verb, Others others, std::vector<std::string> directories,
                             Client client);
  // Snapshots, and "" for a sandbox's current state.
  std::vector<std::string> StatesOf(const Sandbox& each, const Others& others) const;
  bool HasAny(const Others& others) const;

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  SnapshotTable& snapshots_;
  Spawn& spawn_;
  ChangeReader& reader_;
};

// Paths in the form that spawn reads.
sys::Fd PathsForSpawn(const std::vector<std::string>& paths);

}  // namespace cloche::daemon
