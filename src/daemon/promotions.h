#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/change_reader.h"

namespace cloche::daemon {

// Lifts what a sandbox changed into reality, by cloche-promote.
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

  // What cloche-promote said, or how it begins: then the rest comes from the reading, which is to
  // be finished.
  struct Said {
    std::string text;
    std::shared_ptr<Reading> rest;
  };
  // One promotion or undo of a person at a time: while another is under way the sandbox goes on, it
  // stands still only to be read.
  Task<Result<Said>> Promote(std::shared_ptr<Sandbox> sandbox, PromotionRequest request,
                             Client client);
  // Reality was changed: the client's running sandboxes see it as it is now. Not `unless`, whose
  // own promotion it was.
  Task<Status> ShowReality(Client client, std::shared_ptr<Sandbox> unless = nullptr);
  // An undo is about to take these directories of reality away: those of the client's sandboxes and
  // snapshots that show what is in them, by a name of their own, get a copy of it.
  Task<Status> FlattenBeforeUndo(std::vector<std::string> directories, Client client);
  // Another cloche.toml binds its promotions from now on.
  Status PinProjectFile(Sandbox& sandbox, std::string text);

 private:
  // What was found out on the way, so that the next try does otherwise.
  struct Attempt {
    bool much = false;              // more changed than can be read while the sandbox stands still
    int flattened = 0;              // how often its renamed directories were copied
    bool others_flattened = false;  // and those of others that it takes the content of
  };
  struct Stance {
    std::string state;    // the snapshot to read; "" = the sandbox itself
    bool freeze = false;  // spawn lets it stand still
    bool few = false;     // and only if little changed
  };
  Task<Result<Said>> Try(std::shared_ptr<Sandbox> sandbox, PromotionRequest request,
                         Attempt& attempt, Client client);
  Task<Result<Stance>> HoldStill(std::shared_ptr<Reading> reading, std::string snapshot, bool much);
  Status Send(Reading& reading, const PromotionRequest& request, const Stance& stance,
              const Attempt& attempt, const Client& client);
  Task<Result<Said>> ReadAnswer(std::shared_ptr<Reading> reading, bool frozen, Client client);

  // flatten.cc. A promotion moves what renamed directories inside still show of reality: it is
  // copied first. `states`: snapshots, and "" for what the sandbox holds now. It may take long, so
  // it ends like a diff, when the client goes or the sandbox is stopped.
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
  // Snapshots, and "" for what a sandbox holds now.
  std::vector<std::string> StatesOf(const Sandbox& each, const Others& others) const;
  bool HasAny(const Others& others) const;

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  SnapshotTable& snapshots_;
  Spawn& spawn_;
  ChangeReader& reader_;
};

// Paths as spawn reads them.
sys::Fd PathsForSpawn(const std::vector<std::string>& paths);

}  // namespace cloche::daemon
