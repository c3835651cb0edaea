#include "daemon/terms.h"

#include <fmt/core.h>

#include <utility>

#include "change/model/sha256.h"

namespace cloche::daemon {

Terms::Terms(SandboxRequest request, bool keep) : request_(std::move(request)), keep_(keep) {
  PinProjectFile(std::move(request_.project_file));
}

void Terms::SetPlan(Planned planned) {
  planned_ = std::move(planned);
  planned_.plan.keep = keep_;
}

void Terms::SetLimits(Limits asked, Limits in_force) {
  request_.limits = std::move(asked);
  planned_.limits = std::move(in_force);
}

std::string Terms::Rename(std::string name) {
  return std::exchange(request_.name, std::move(name));
}

NetworkRequest Terms::SetNetwork(NetworkRequest network) {
  return std::exchange(request_.network, std::move(network));
}

std::vector<ServiceRequest> Terms::SetServices(std::vector<ServiceRequest> services) {
  return std::exchange(request_.services, std::move(services));
}

void Terms::PinProjectFile(std::string text) {
  project_file_digest_ = text.empty() ? "" : "sha256:" + change::ToHex(change::HashOf(text));
  request_.project_file = std::move(text);
}

std::string SeeAlso(const Terms& terms, const std::string& id, std::string_view verb,
                    std::string_view what) {
  if (!terms.keep()) return "";
  return fmt::format("; see: cloche {} {}{}{}", verb, id, what.empty() ? "" : " ", what);
}

}  // namespace cloche::daemon
