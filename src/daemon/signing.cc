#include "daemon/signing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "daemon/text_of.h"
#include "daemon/turn.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostTold = 5;
constexpr size_t kMostText = 256;
constexpr size_t kMostKeys = 16;

std::string ShortTextOf(const Json& json, const char* key) {
  return TextOf(json, key).substr(0, kMostText);
}

bool IsCalled(const SigningKey& key, const std::string& name) {
  return key.name == name || key.comment == name || key.fingerprint == name;
}

}  // namespace

void Signing::TakeEvent(Sandbox& sandbox, const Json& event) {
  Json record = {{"time", event.value("time", Json())}, {"kind", "sign"}};
  if (!record["time"].is_number()) record.erase("time");
  if (const std::string comment = ShortTextOf(event, "comment"); !comment.empty())
    record["name"] = comment;
  for (const char* key : {"decision", "use", "fingerprint", "user", "host", "namespace", "reason"})
    if (std::string text = ShortTextOf(event, key); !text.empty()) record[key] = std::move(text);
  if (const auto untold = event.find("untold"); untold != event.end() && untold->is_number())
    record["untold"] = *untold;
  const std::shared_ptr<SandboxNetwork> network = sandbox.border().MakeNetwork();
  network->Note(record);
  if (ShortTextOf(event, "decision") == "allow") return;
  const std::string reason = ShortTextOf(event, "reason");
  if (network->told.size() > kMostTold || !network->told.insert("sign " + reason).second) return;
  const std::string message = fmt::format("signature refused: {}{}", EscapeForTerminal(reason),
                                          SeeAlso(sandbox.terms(), sandbox.id, "sign", "log"));
  sandbox.commands().Tell({{"kind", "sign"}, {"message", message}});
}

Task<Status> Signing::Open(std::shared_ptr<Sandbox> sandbox, Client client) {
  auto listener = co_await sandbox->init().AskSocket(InitOp::kListen, "let sign");
  if (!listener) co_return std::unexpected(listener.error());
  Close(*sandbox);
  (void)sandbox->border().MakeNetwork();  // for its log
  auto link = std::make_shared<SignLink>(io_, spawn_);
  link->on_signature = [this, weak = std::weak_ptr(sandbox)](const Json& event) {
    if (const auto alive = weak.lock()) TakeEvent(*alive, event);
  };
  link->on_death = [this, weak = std::weak_ptr(sandbox)](const std::string& why) {
    const auto alive = weak.lock();
    if (!alive) return;
    const Json event = {{"decision", "deny"},
                        {"use", "agent"},
                        {"reason", why + ": nothing is signed until the sandbox starts again"}};
    TakeEvent(*alive, event);
  };
  CLOCHE_CO_TRY(link->Start(io_, sandbox->id, sandbox->terms().request().signing.agent,
                            client.socket, std::move(*listener),
                            machine_.state_directory() + "/daemon/sign.log"));
  sandbox->border().SetSigner(link);
  Status set = co_await Set(sandbox, sandbox->terms().request().signing);
  if (!set) Close(*sandbox);
  co_return set;
}

Task<Status> Signing::Set(std::shared_ptr<Sandbox> sandbox, SigningRequest wanted) {
  Json keys = Json::array();
  for (const SigningKey& each : wanted.keys) keys.push_back(Json(SigningKeyToJson(each)));
  const std::shared_ptr<SignLink> link = sandbox->border().signer();
  auto known = co_await link->SetKeys(std::move(keys), wanted.per_minute);
  if (!known) co_return std::unexpected(known.error());
  wanted.keys.clear();
  for (const Json& each : *known) {
    auto key = ParseSigningKey(each);
    if (!key) co_return std::unexpected(key.error());
    wanted.keys.push_back(std::move(*key));
  }
  sandbox->terms().SetSigning(std::move(wanted));
  co_return Status{};
}

void Signing::Close(Sandbox& sandbox) {
  if (const auto link = sandbox.border().SetSigner(nullptr)) {
    link->on_death = nullptr;
    link->Close();
  }
}

Task<Status> Signing::Change(std::shared_ptr<Sandbox> sandbox, SigningChange change,
                             Client client) {
  const Turn turn = co_await TakeTurn(sandbox);
  if (!sandbox->has_files())
    co_return Fail(Code::kConflict, "change what " + sandbox->id + " may sign: it has ended",
                   "make a new sandbox: cloche new");
  SigningRequest wanted = sandbox->terms().request().signing;
  for (const std::string& gone : change.remove)
    if (std::erase_if(wanted.keys, [&](const SigningKey& key) { return IsCalled(key, gone); }) == 0)
      co_return Fail(
          Code::kNotFound,
          fmt::format("revoke a key: {} has no {}", sandbox->id, EscapeForTerminal(gone)),
          "cloche sign " + sandbox->id + " ls");
  const bool runs = sandbox->runs();
  if (!change.add.empty() && !runs)
    co_return Fail(Code::kConflict, "grant a key to " + sandbox->id + ": it does not run",
                   "start something in it: cloche exec " + sandbox->id + " -- true");
  for (SigningKey& each : change.add) {
    // The same key again replaces the earlier grant.
    std::erase_if(wanted.keys, [&](const SigningKey& key) { return IsCalled(key, each.name); });
    wanted.keys.push_back(std::move(each));
  }
  if (wanted.keys.size() > kMostKeys)
    co_return Fail(Code::kInvalid, fmt::format("grant keys: more than {} are too many", kMostKeys),
                   "revoke some: cloche sign " + sandbox->id + " rm NAME");
  const bool moved = !change.agent.empty() && !change.add.empty() && change.agent != wanted.agent;
  if (moved) wanted.agent = change.agent;
  if (wanted.agent.empty() && !wanted.keys.empty())
    co_return Fail(Code::kInvalid, "grant a key: of which ssh-agent?", "give agent");
  const bool open = sandbox->border().signer() && sandbox->border().signer()->open();
  const SigningRequest before = sandbox->terms().request().signing;
  if (runs && open && !moved) {
    Status set = co_await Set(sandbox, wanted);
    if (!set && !change.add.empty()) co_return set;
    if (!set) {
      // It does not respond and was closed. Revoked keys stay revoked.
      Close(*sandbox);
      sandbox->terms().SetSigning(std::move(wanted));
    }
  } else if (runs && !wanted.keys.empty()) {
    sandbox->terms().SetSigning(std::move(wanted));
    Status opened = co_await Open(sandbox, client);
    if (!opened && !change.add.empty()) {
      sandbox->terms().SetSigning(before);
      co_return opened;
    }
    // Otherwise: revoked keys stay revoked.
  } else {
    sandbox->terms().SetSigning(std::move(wanted));
  }
  if (sandbox->border().network()) sandbox->border().network()->told.clear();
  co_return table_.Save(*sandbox);
}

Json Signing::ToJson(const Sandbox& sandbox) {
  const SigningRequest& signing = sandbox.terms().request().signing;
  const bool open = sandbox.border().signer() && sandbox.border().signer()->open();
  Json keys = Json::array();
  for (const SigningKey& each : signing.keys) keys.push_back(Json(SigningKeyToJson(each)));
  const char* state = signing.keys.empty() ? "none"
                      : open               ? "open"
                      : sandbox.runs()     ? "closed"
                                           : "stopped";
  return {{"id", sandbox.id},        {"state", state},
          {"keys", std::move(keys)}, {"per_minute", signing.per_minute},
          {"agent", signing.agent},  {"socket", kSignSocket}};
}

}  // namespace cloche::daemon
