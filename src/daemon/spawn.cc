#include "daemon/spawn.h"

#include <string.h>

namespace cloche::daemon {

Task<SpawnAnswer> Spawn::Finish(std::shared_ptr<Waiting> waiting) {
  co_await waiting->done.Wait();
  co_return std::move(waiting->answer);
}

Task<SpawnAnswer> Spawn::Call(SpawnOp op, const std::string& sandbox, uint32_t flags,
                              std::vector<int> fds) {
  SpawnRequest request{};
  request.op = op;
  request.flags = flags;
  strncpy(request.sandbox, sandbox.c_str(), sizeof request.sandbox - 1);
  co_return co_await Finish(Send(request, fds));
}

Task<SpawnAnswer> Spawn::Call(SpawnOp op, const std::string& sandbox, const std::string& snapshot,
                              const std::string& other) {
  return Finish(Begin(op, sandbox, snapshot, other));
}

std::shared_ptr<Spawn::Waiting> Spawn::Begin(SpawnOp op, const std::string& sandbox,
                                             const std::string& snapshot, const std::string& other,
                                             uint32_t flags) {
  SpawnRequest request{};
  request.op = op;
  request.flags = flags;
  strncpy(request.sandbox, sandbox.c_str(), sizeof request.sandbox - 1);
  strncpy(request.snapshot, snapshot.c_str(), sizeof request.snapshot - 1);
  strncpy(request.other, other.c_str(), sizeof request.other - 1);
  return Send(request, {});
}

}  // namespace cloche::daemon
