#include "daemon/spawn.h"

namespace cloche::daemon {

Task<SpawnAnswer> Spawn::Finish(std::shared_ptr<Waiting> waiting) {
  co_await waiting->done.Wait();
  co_return std::move(waiting->answer);
}

}  // namespace cloche::daemon
