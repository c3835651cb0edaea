#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "egress/connection.h"
#include "egress/control.h"
#include "egress/relay_buffers.h"
#include "egress/reports.h"
#include "egress/resolver.h"
#include "egress/sandbox.h"
#include "egress/tls.h"

namespace cloche::egress {

// Takes the daemon's messages and serves the sockets that come with them.
class Server {
 public:
  Server(Loop& loop, sys::Fd control, uint64_t most_connections);
  void Begin();

 private:
  Task<void> ReadControl();
  void Handle(std::string_view text, std::vector<sys::Fd> fds);
  void Do(OpenMessage message, std::vector<sys::Fd> fds);
  void Do(RulesMessage message);
  void Do(const LimitsMessage& message);
  void Do(const OwnerMessage& message);
  void Do(const CloseMessage& message);
  void Do(const AuthorityMessage& message);
  void Do(SecretMessage message);
  void Do(RedactMessage message);
  void Serve(const std::shared_ptr<Sandbox>& sandbox, SocketUse use, sys::Fd fd);
  Task<void> Accept(std::shared_ptr<Sandbox> sandbox, std::shared_ptr<Socket> listener,
                    SocketUse use);
  void SetRules(Sandbox& sandbox, std::vector<Rule> rules);
  void CutWhatIsNotGranted(Sandbox& sandbox);
  void CheckExpiries();
  void Complain(const std::string& sandbox, const std::string& message);

  Loop& loop_;
  Socket control_;
  Reports reports_;
  Resolver resolver_;
  RelayBuffers buffers_;
  Trust host_cas_;
  Services services_;
  uint64_t most_connections_;
  std::map<std::string, std::shared_ptr<Sandbox>> sandboxes_;
  // They come before their sandbox is opened: its first request must find them.
  std::map<std::string, SecretStore> early_secrets_;
};

}  // namespace cloche::egress
