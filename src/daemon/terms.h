#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/plan.h"
#include "policy/request.h"

namespace cloche::daemon {

// The request for a sandbox, and the plan derived from it.
class Terms {
 public:
  Terms() = default;
  Terms(SandboxRequest request, bool keep);

  const std::string& name() const { return request_.name; }  // "" = none
  const SandboxRequest& request() const { return request_; }
  const Planned& planned() const { return planned_; }
  const Limits& limits() const { return planned_.limits; }  // in force
  bool keep() const { return keep_; }                       // its files outlive its command
  // Digest of the pinned cloche.toml, "sha256:..."; "" = none.
  const std::string& project_file_digest() const { return project_file_digest_; }

  void SetPlan(Planned planned);
  void SetLimits(Limits asked, Limits in_force);
  // These three return the old value, so that callers can revert the change.
  std::string Rename(std::string name);
  NetworkRequest SetNetwork(NetworkRequest network);
  std::vector<ServiceRequest> SetServices(std::vector<ServiceRequest> services);
  void SetSigning(SigningRequest signing) { request_.signing = std::move(signing); }
  // The text of the cloche.toml that binds promotions from now on.
  void PinProjectFile(std::string text);

 private:
  SandboxRequest request_;
  Planned planned_;
  bool keep_ = false;
  std::string project_file_digest_;
};

// "; see: cloche net ID log"; "" for a disposable sandbox, which is gone before anybody can look.
std::string SeeAlso(const Terms& terms, const std::string& id, std::string_view verb,
                    std::string_view what = "");

}  // namespace cloche::daemon
