#include "daemon/ask_inside.h"

#include <vector>

namespace cloche::daemon {

Task<Result<SpawnAnswer>> AskInside(Spawn& spawn, Mode mode, std::shared_ptr<Sandbox> sandbox,
                                    SpawnRequest request, Client client, int memory) {
  const bool forgets = request.op == SpawnOp::kForget;
  const bool mounts = forgets || request.op == SpawnOp::kInstallCa;
  std::vector<int> fds(1, client.socket);
  if (memory >= 0) fds.push_back(memory);
  sys::Fd namespace_fd;
  if (mode == Mode::kRootless) {
    auto made =
        co_await sandbox->init().AskSocket(mounts ? InitOp::kMounts : InitOp::kSocket,
                                           forgets ? "look at reality anew" : "open the network");
    if (!made) co_return std::unexpected(made.error());
    namespace_fd = std::move(*made);
    fds.push_back(namespace_fd.get());
  }
  co_return co_await Spawn::Finish(spawn.SendRequest(request, fds));
}

}  // namespace cloche::daemon
