#include "daemon/turn.h"

namespace cloche::daemon {

Turn::Turn(std::shared_ptr<Sandbox> sandbox) : sandbox_(std::move(sandbox)) {
  sandbox_->turn().Close();
}

Turn::~Turn() {
  if (!sandbox_) return;  // moved from
  sandbox_->turn().Open();
}

Task<Turn> TakeTurn(std::shared_ptr<Sandbox> sandbox) {
  co_await sandbox->turn().Wait();
  co_return Turn(std::move(sandbox));
}

}  // namespace cloche::daemon
