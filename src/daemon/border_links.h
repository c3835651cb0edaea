#pragma once

#include <memory>
#include <string>
#include <utility>

#include "daemon/sandbox_network.h"
#include "daemon/sign_link.h"

namespace cloche::daemon {

// A sandbox's connections to the outside: its network, and the process that signs for it.
class BorderLinks {
 public:
  BorderLinks(asio::io_context& io, std::string network_log)
      : io_(io), network_log_(std::move(network_log)) {}

  // Null until the first MakeNetwork.
  const std::shared_ptr<SandboxNetwork>& network() const { return network_; }
  const std::shared_ptr<SandboxNetwork>& MakeNetwork() {
    if (!network_) network_ = std::make_shared<SandboxNetwork>(io_, network_log_);
    return network_;
  }
  bool is_open() const { return network_ && network_->proxy_port != 0; }

  const std::shared_ptr<SignLink>& signer() const { return signer_; }      // null: none runs
  std::shared_ptr<SignLink> SetSigner(std::shared_ptr<SignLink> signer) {  // the old one
    return std::exchange(signer_, std::move(signer));
  }

 private:
  asio::io_context& io_;
  std::string network_log_;
  std::shared_ptr<SandboxNetwork> network_;
  std::shared_ptr<SignLink> signer_;
};

}  // namespace cloche::daemon
