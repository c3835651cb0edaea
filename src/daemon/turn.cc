#include "daemon/turn.h"

namespace cloche::daemon {

Turn::Turn(std::shared_ptr<Sandbox> sandbox) : sandbox_(std::move(sandbox)) {
  sandbox_->turn = std::make_shared<Event>(sandbox_->io());
}

Turn::~Turn() {
  if (!sandbox_) return;  // moved from
  auto over = std::move(sandbox_->turn);
  over->Set();
}

Task<Turn> TakeTurn(std::shared_ptr<Sandbox> sandbox) {
  while (auto taken = sandbox->turn) co_await taken->Wait();
  co_return Turn(std::move(sandbox));
}

}  // namespace cloche::daemon
