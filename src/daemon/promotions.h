#pragma once

#include <memory>
#include <string>

#include "daemon/change_reader.h"

namespace cloche::daemon {

// Lifts what a sandbox changed into reality, by cloche-promote.
class Promotions {
 public:
  Promotions(asio::io_context& io, Machine& machine, SandboxTable& table, Spawn& spawn,
             ChangeReader& reader)
      : io_(io), machine_(machine), table_(table), spawn_(spawn), reader_(reader) {}

  // The answer of cloche-promote. One promotion or undo of a person at a time: while another is
  // under way the sandbox goes on, it stands still only to be looked at.
  Task<Result<ChangeReader::Said>> Promote(std::shared_ptr<Sandbox> sandbox, LookRequest request,
                                           Client client);
  // Reality was changed: the client's running sandboxes see it as it is now. Not `unless`, whose
  // own promotion it was.
  Task<Status> ShowReality(Client client, std::shared_ptr<Sandbox> unless = nullptr);
  // Another cloche.toml binds its promotions from now on.
  Status PinProjectFile(Sandbox& sandbox, std::string text);

 private:
  Task<Status> FlattenOthers(std::shared_ptr<Sandbox> sandbox, Json directories, Client client);

  asio::io_context& io_;
  Machine& machine_;
  SandboxTable& table_;
  Spawn& spawn_;
  ChangeReader& reader_;
};

}  // namespace cloche::daemon
