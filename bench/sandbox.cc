#include "sandbox.h"

#include <fmt/core.h>

#include <filesystem>

#include "program.h"
#include "series.h"

namespace cloche::bench {
namespace {

Argv TreeWork(const std::string& place, int files) {
  return {Sibling("cloche-bench"), "--work", fmt::format("tree-{}", files), place};
}

}  // namespace

Sandbox::Sandbox(OwnDaemon& daemon) : connection_(daemon.socket()), work_(daemon.work()) {
  id_ = connection_.Call("POST", "/v1/sandboxes", daemon.SandboxRequest()).at("id");
}

Sandbox::~Sandbox() { connection_.Forget(id_); }

void Sandbox::Run(const std::string& script) {
  const auto result = connection_.Call("POST", Target("/commands"),
                                       {{"argv", {"sh", "-c", "cd '" + work_ + "' && " + script}}});
  if (result.value("exit_status", -1) != 0) throw std::runtime_error(result.dump());
}

void Sandbox::MakeTree(const std::string& name, int files) {
  const auto result = connection_.Call("POST", Target("/commands"),
                                       {{"argv", TreeWork(work_ + "/" + name, files)}});
  if (result.value("exit_status", -1) != 0) throw std::runtime_error(result.dump());
}

double Sandbox::Snapshot() {
  const Stopwatch watch;
  const auto made = connection_.Call("POST", Target("/snapshots"), nlohmann::json::object());
  const double ms = watch.Ms();
  saved_ = made.at("id");
  return ms;
}

double Sandbox::Rollback() {
  const Stopwatch watch;
  connection_.Call("POST", Target("/rollback"), {{"snapshot", saved_}});
  return watch.Ms();
}

double Sandbox::Fork(int count) {
  const Stopwatch watch;
  const auto forks = connection_.Call("POST", Target("/fork"), {{"count", count}});
  const double ms = watch.Ms();
  for (const auto& fork : forks)
    connection_.Call("DELETE", "/v1/sandboxes/" + fork.at("id").get<std::string>());
  return ms;
}

double Sandbox::Diff() {
  return TimeSpawn({Sibling("cloche"), "diff", id_, "--name-only", "--all"});
}

Sandbox::Promoted Sandbox::Promote(const std::string& path) {
  Promoted promoted;
  nlohmann::json body = {{"dry_run", true}, {"paths", {path}}, {"allow_triggers", true}};
  const Stopwatch look;
  const auto shown = connection_.Call("POST", Target("/promote"), body);
  promoted.look_ms = look.Ms();
  body["dry_run"] = false;
  body["digest"] = shown.at("digest");
  const Stopwatch apply;
  const auto done = connection_.Call("POST", Target("/promote"), body);
  promoted.apply_ms = apply.Ms();
  if (done.value("state", "") != "done") throw std::runtime_error("promote: " + done.dump());
  promoted.id = done.at("id");
  return promoted;
}

void MakeTree(const std::string& place, int files) { TimeSpawn(TreeWork(place, files)); }

}  // namespace cloche::bench
