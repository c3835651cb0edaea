#include "daemon/ca_store.h"

#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "daemon/ask_inside.h"
#include "daemon/host_ca.h"
#include "egress/rule.h"
#include "sys/process.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostFallback = 2 << 20;

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Json ForEgress(const Authority& authority) {
  return {{"certificate", authority.certificate}, {"key", authority.key}};
}

}  // namespace

bool NeedsAuthority(const Json& rules) {
  return std::ranges::any_of(rules, [](const Json& each) {
    const auto rule = egress::RuleFromJson(nlohmann::json(each));
    return rule && rule->kind == egress::Kind::kHttps && rule->LooksIntoRequests();
  });
}

std::string CaStore::PathOf(const std::string& id) const {
  return fmt::format("{}/daemon/authorities/{}.pem", machine_.state_directory(), id);
}

// A disposable sandbox keeps its CA in memory only.
Result<Authority> CaStore::Of(Sandbox& sandbox) {
  std::optional<Authority>& held = sandbox.border().MakeNetwork()->authority;
  const std::string path = PathOf(sandbox.id);
  if (!held && sandbox.terms().keep())
    if (auto kept = ReadAuthority(path)) held = std::move(*kept);
  if (held && LastsFrom(*held, Now())) return *held;
  ASSIGN_OR_RETURN(Authority made, MakeAuthority(sandbox.id));
  if (sandbox.terms().keep()) {
    const std::filesystem::path directory = std::filesystem::path(path).parent_path();
    std::error_code error;
    std::filesystem::create_directory(directory, error);
    if (!error) std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    if (error)
      return Fail(Code::kUnavailable,
                  fmt::format("make {}: {}", directory.string(), error.message()),
                  "is the disk full?");
    CLOCHE_TRY(KeepAuthority(made, path));
  }
  held = std::move(made);
  return *held;
}

Task<Status> CaStore::Lay(std::shared_ptr<Sandbox> sandbox, Authority authority, Client client) {
  std::string text = authority.certificate;
  for (const std::string& part : CertificatesInParts(ReadHostCas(machine_.mode()), kMostFallback))
    if (text.size() < kMostFallback) text += part;
  const sys::Fd memory(sys::SealedMemfd("certificates", text.data(), text.size()));
  if (!memory.valid()) co_return Fail(Code::kInternal, "write certificates: out of memory");
  const SpawnRequest request = RequestOf(sandbox->id, ask::InstallCa());
  auto answer = co_await AskInside(spawn_, machine_.mode(), sandbox, request, client, memory.get());
  if (!answer) co_return std::unexpected(answer.error());
  if (answer->reply.value != 0) co_return std::unexpected(machine_.Explain(*answer));
  sandbox->border().MakeNetwork()->believes = authority.sha256;
  co_return Status{};
}

Task<Result<Json>> CaStore::Prepare(std::shared_ptr<Sandbox> sandbox, Client client) {
  auto authority = Of(*sandbox);
  if (!authority) co_return std::unexpected(authority.error());
  if (Status laid = co_await Lay(sandbox, *authority, client); !laid)
    co_return std::unexpected(laid.error());
  co_return ForEgress(*authority);
}

bool CaStore::IsToBeRenewed(const Sandbox& sandbox) {
  const std::shared_ptr<SandboxNetwork>& network = sandbox.border().network();
  return network && !network->believes.empty() && network->authority &&
         !LastsFrom(*network->authority, Now());
}

void CaStore::Remove(const std::string& id) const {
  std::error_code error;
  std::filesystem::remove(PathOf(id), error);
}

void CaStore::RemoveStale(const SandboxTable& table) const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           machine_.state_directory() + "/daemon/authorities", error))
    if (!table.Contains(entry.path().stem())) std::filesystem::remove(entry.path(), error);
}

// Variables that the caller set stay as they are.
void AddCaVariables(const Sandbox& sandbox, const std::vector<std::string>& named,
                    std::vector<std::string>& env) {
  if (!sandbox.border().network() || sandbox.border().network()->believes.empty()) return;
  for (const char* name : {"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
                           "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}) {
    if (std::ranges::find(named, name) != named.end() ||
        std::ranges::find(sandbox.terms().request().env_names, name) !=
            sandbox.terms().request().env_names.end())
      continue;
    const std::string begin = std::string(name) + "=";
    std::erase_if(env, [&](const std::string& each) { return each.starts_with(begin); });
    env.push_back(begin + (strcmp(name, "NODE_EXTRA_CA_CERTS") == 0
                               ? "/dev/cloche/ca.crt"
                               : "/dev/cloche/ca-certificates.crt"));
  }
}

}  // namespace cloche::daemon
