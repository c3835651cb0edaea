#include "daemon/sandbox_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/nearest_word.h"
#include "base/text.h"
#include "policy/stored_request.h"
#include "sys/clocks.h"
#include "sys/file.h"

namespace cloche::daemon {
namespace {

// A machine has 8,192 id ranges for all users: one user must not get them all.
constexpr size_t kMostOfOneUser = 2000;

}  // namespace

std::string NewId(const char* prefix) {
  static constexpr char kAlphabet[] = "abcdefghjkmnpqrstuvwxyz23456789";
  unsigned char random[12];
  sys::RandomBytes(random, sizeof random);
  std::string id = prefix;
  for (unsigned char byte : random) id.push_back(kAlphabet[byte % (sizeof kAlphabet - 1)]);
  return id;
}

Status CheckReadable(const Sandbox& sandbox) {
  if (sandbox.state() != Sandbox::State::kUnreadable) return {};
  return Fail(
      Code::kConflict, fmt::format("use {}: {}", sandbox.id, sandbox.reason()),
      fmt::format("the version of cloche that wrote it may read it; cloche rm {} removes it "
                  "with its files",
                  sandbox.id));
}

Result<std::shared_ptr<Sandbox>> SandboxTable::Find(const std::string& ref,
                                                    const Client& client) const {
  auto found = FindAny(ref, client);
  if (found) CLOCHE_TRY(CheckReadable(**found));
  return found;
}

Result<std::shared_ptr<Sandbox>> SandboxTable::FindAny(const std::string& ref,
                                                       const Client& client) const {
  std::vector<std::shared_ptr<Sandbox>> found;
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->owner != client.peer.uid) continue;
    if (id == ref || sandbox->terms().name() == ref) return sandbox;
    if (!ref.empty() && (id.starts_with(ref) || id.starts_with("sb_" + ref)))
      found.push_back(sandbox);
  }
  if (found.size() == 1) return found[0];
  if (found.size() > 1)
    return Fail(Code::kConflict,
                fmt::format("find sandbox: {} is the beginning of {} ids", EscapeForTerminal(ref),
                            found.size()),
                "give more of the id");
  std::vector<std::string> names;
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->owner == client.peer.uid)
      names.push_back(sandbox->terms().name().empty() ? id : sandbox->terms().name());
  const std::string near = NearestWord(ref, names);
  return Fail(Code::kNotFound,
              fmt::format("find sandbox: no sandbox is called {}", EscapeForTerminal(ref)),
              near.empty() ? "cloche ls shows the ones there are"
                           : fmt::format("did you mean {}? cloche ls shows all", near));
}

std::vector<std::shared_ptr<Sandbox>> SandboxTable::List(const Client& client) const {
  std::vector<std::shared_ptr<Sandbox>> list;
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->owner == client.peer.uid) list.push_back(sandbox);
  std::ranges::sort(list, {}, [](const auto& sandbox) { return sandbox->lifetime().created; });
  return list;
}

Status SandboxTable::CheckNewNames(const std::vector<std::string>& names, size_t count,
                                   const Client& client) const {
  size_t own = 0;
  for (const auto& [id, other] : sandboxes_) {
    if (other->owner != client.peer.uid) continue;
    ++own;
    if (!other->terms().name().empty() &&
        std::ranges::find(names, other->terms().name()) != names.end())
      return Fail(
          Code::kConflict,
          fmt::format("make sandbox: the name {} is taken by {}", other->terms().name(), id),
          fmt::format("choose another name, or remove it: cloche rm {}", other->terms().name()));
  }
  if (own + count <= kMostOfOneUser) return {};
  return Fail(Code::kExhausted,
              fmt::format("make sandbox: you have {}, the most is {}", own, kMostOfOneUser),
              "remove some: cloche ls, then cloche rm");
}

std::shared_ptr<Sandbox> SandboxTable::Make(const std::string& id, uint32_t owner,
                                            Beginning beginning) {
  return std::make_shared<Sandbox>(io_, id, owner, std::move(beginning), logs_.NetworkLog(id),
                                   events);
}

void SandboxTable::Add(std::shared_ptr<Sandbox> sandbox) {
  const std::string& id = sandbox->id;
  sandboxes_[id] = std::move(sandbox);
}

bool SandboxTable::HasRecord(const Sandbox& sandbox) {
  // An unreadable record stays as it was found.
  return sandbox.terms().keep() && sandbox.state() != Sandbox::State::kUnreadable;
}

Status SandboxTable::Save(const Sandbox& sandbox) {
  if (!HasRecord(sandbox)) return {};
  if (sandbox.state() != Sandbox::State::kGoing)
    CLOCHE_TRY(CheckStorable(sandbox.terms().request()));
  return registry_.Put(RowOf(sandbox));
}

void SandboxTable::RemoveRow(const std::string& id) {
  if (!registry_.Remove(id)) unforgotten_.push_back(id);
}

void SandboxTable::RemoveAgain() {
  std::erase_if(unforgotten_,
                [&](const std::string& id) { return registry_.Remove(id).has_value(); });
}

// Checked often: a clock set back and then forward again between two checks goes unnoticed.
void SandboxTable::ObserveClock() {
  const ClockReading now = sys::ReadClocks();
  std::vector<Registry::Row> rows;  // one commit for all: each is a sync
  for (const auto& [id, sandbox] : sandboxes_)
    if (sandbox->birth().Observe(now) && HasRecord(*sandbox)) rows.push_back(RowOf(*sandbox));
  if (!rows.empty()) (void)registry_.Put(rows);
}

Task<void> RemoveRest(Spawn& spawn, SandboxTable& table, std::string id) {
  SpawnAnswer answer = co_await spawn.Call(id, ask::Discard());
  if (answer.reply.value == 0) (void)table.registry().Remove(id);
}

}  // namespace cloche::daemon
