#include "daemon/ask_inside.h"

#include <string.h>

#include <vector>

namespace cloche::daemon {

Task<Result<SpawnAnswer>> AskInside(Spawn& spawn, Mode mode, std::shared_ptr<Sandbox> sandbox,
                                    SpawnOp op, uint64_t argument, Client client, int memory) {
  std::vector<int> fds(1, client.socket);
  if (memory >= 0) fds.push_back(memory);
  sys::Fd witness;
  if (mode == Mode::kRootless) {
    auto made = co_await sandbox->AskSocket(
        op == SpawnOp::kTrust || op == SpawnOp::kForget ? InitOp::kMounts : InitOp::kSocket,
        op == SpawnOp::kForget ? "look at reality anew" : "open the network");
    if (!made) co_return std::unexpected(made.error());
    witness = std::move(*made);
    fds.push_back(witness.get());
  }
  SpawnRequest request{};
  request.op = op;
  request.argument = argument;
  strncpy(request.sandbox, sandbox->id.c_str(), sizeof request.sandbox - 1);
  co_return co_await Spawn::Finish(spawn.Send(request, fds));
}

}  // namespace cloche::daemon
