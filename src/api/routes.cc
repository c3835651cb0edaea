#include "api/routes.h"

#include <fmt/core.h>

#include <algorithm>

#include "api/handlers.h"
#include "api/stream.h"
#include "base/text.h"

namespace cloche::api {
namespace {

constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;
constexpr size_t kEmpty = kMostEmptyBody;
constexpr size_t kSmall = 256 * kKiB;
constexpr size_t kWithCommand = 8 * kMiB;  // arguments and environment, as far as the kernel goes
constexpr size_t kWithTexts = 16 * kMiB;   // of conflicts that a person resolved

constexpr Subject kNone = Subject::kNone;
constexpr Subject kSandbox = Subject::kSandbox;
constexpr Subject kAny = Subject::kAnySandbox;

// clang-format off
constexpr Route kRoutes[] = {
    {"GET",    "status",                         kEmpty,       kNone,    ShowStatus},
    {"GET",    "doctor",                         kEmpty,       kNone,    ShowDoctor},
    {"POST",   "explain",                        kWithCommand, kNone,    Explain},
    {"POST",   "run",                            kWithCommand, kNone,    &Stream::Run},
    {"GET",    "sandboxes",                      kEmpty,       kNone,    ListSandboxes},
    {"POST",   "sandboxes",                      kWithCommand, kNone,    CreateSandbox},
    {"GET",    "sandboxes/*",                    kEmpty,       kAny,     ShowSandbox},
    {"PATCH",  "sandboxes/*",                    kSmall,       kSandbox, RenameSandbox},
    {"DELETE", "sandboxes/*",                    kEmpty,       kAny,     RemoveSandbox},
    {"POST",   "sandboxes/*/start",              kSmall,       kSandbox, StartSandbox},
    {"POST",   "sandboxes/*/stop",               kSmall,       kAny,     StopSandbox},
    {"GET",    "sandboxes/*/usage",              kEmpty,       kSandbox, ShowUsage},
    {"GET",    "sandboxes/*/commands",           kEmpty,       kSandbox, ListCommands},
    {"POST",   "sandboxes/*/commands",           kWithCommand, kSandbox, RunCommand},
    {"POST",   "sandboxes/*/commands",           kWithCommand, kNone,    &Stream::Exec},
    {"GET",    "sandboxes/*/commands/*",         kEmpty,       kSandbox, ShowCommand},
    {"GET",    "sandboxes/*/commands/*/output",  kEmpty,       kSandbox, ReadOutput},
    {"POST",   "sandboxes/*/commands/*/attach",  kSmall,       kNone,    &Stream::Attach},
    {"POST",   "sandboxes/*/commands/*/signal",  kSmall,       kSandbox, SignalCommand},
    {"GET",    "sandboxes/*/snapshots",          kEmpty,       kSandbox, ListSnapshots},
    {"POST",   "sandboxes/*/snapshots",          kSmall,       kSandbox, TakeSnapshot},
    {"POST",   "sandboxes/*/rollback",           kSmall,       kSandbox, RollBack},
    {"POST",   "sandboxes/*/fork",               kSmall,       kSandbox, ForkSandbox},
    {"GET",    "sandboxes/*/changes",            kEmpty,       kSandbox, ReadChanges},
    {"POST",   "sandboxes/*/promote",            kWithTexts,   kSandbox, Promote},
    {"GET",    "sandboxes/*/staleness",          kEmpty,       kSandbox, ShowStaleness},
    {"POST",   "sandboxes/*/refresh",            kSmall,       kSandbox, RefreshSandbox},
    {"GET",    "sandboxes/*/project_file",       kEmpty,       kSandbox, ShowProjectFile},
    {"PUT",    "sandboxes/*/project_file",       kMiB,         kSandbox, PinProjectFile},
    {"GET",    "sandboxes/*/services",           kEmpty,       kSandbox, ListServices},
    {"POST",   "sandboxes/*/services",           kWithCommand, kSandbox, AddServices},
    {"POST",   "sandboxes/*/services/*/restart", kSmall,       kSandbox, RestartService},
    {"GET",    "sandboxes/*/services/*/output",  kEmpty,       kSandbox, ReadServiceOutput},
    {"GET",    "sandboxes/*/network",            kEmpty,       kSandbox, ShowNetwork},
    {"POST",   "sandboxes/*/network",            kMiB,         kSandbox, ChangeNetwork},
    {"GET",    "sandboxes/*/network/log",        kEmpty,       kSandbox, ReadNetworkLog},
    {"GET",    "sandboxes/*/sign",               kEmpty,       kSandbox, ShowSigning},
    {"POST",   "sandboxes/*/sign",               kSmall,       kSandbox, ChangeSigning},
    {"POST",   "sandboxes/*/ports/*",            kSmall,       kSandbox, PortAnswer{}},
    {"GET",    "snapshots/*",                    kEmpty,       kNone,    ShowSnapshot},
    {"PATCH",  "snapshots/*",                    kSmall,       kNone,    RenameSnapshot},
    {"DELETE", "snapshots/*",                    kEmpty,       kNone,    RemoveSnapshot},
    {"POST",   "snapshots/*/fork",               kSmall,       kNone,    ForkSnapshot},
    {"POST",   "reality",                        kSmall,       kNone,    ShowReality},
    {"POST",   "reality/flatten",                kSmall,       kNone,    FlattenStates},
    {"GET",    "secrets",                        kEmpty,       kNone,    ListSecrets},
    {"GET",    "secrets/*",                      kEmpty,       kNone,    ShowSecret},
    {"PUT",    "secrets/*",                      kMiB,         kNone,    SetSecret},
    {"DELETE", "secrets/*",                      kEmpty,       kNone,    RemoveSecret},
    {"POST",   "secrets/*/rotate",               kMiB,         kNone,    RotateSecret},
};
// clang-format on

bool Matches(std::string_view pattern, const std::vector<std::string>& path) {
  for (const std::string& segment : path) {
    const size_t end = std::min(pattern.find('/'), pattern.size());
    const std::string_view part = pattern.substr(0, end);
    if (part.empty() || (part != "*" && part != segment)) return false;
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return pattern.empty();
}

std::string Shown(const std::vector<std::string>& path) {
  std::string shown;
  for (const std::string& segment : path) shown += "/" + segment;
  return EscapeForTerminal(shown.substr(0, 200));
}

std::unexpected<Refusal> Refuse(Code code, int status, std::string message, std::string cure) {
  return std::unexpected(Refusal{{code, std::move(message), std::move(cure)}, status});
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

std::expected<const Route*, Refusal> FindRoute(const std::string& method,
                                               const std::vector<std::string>& path, bool upgrade) {
  const Route* other = nullptr;  // the same, but for the upgrade
  std::string methods;
  for (const Route& route : kRoutes) {
    if (!Matches(route.path, path)) continue;
    if (route.method == method && route.NeedsUpgrade() == upgrade) return &route;
    if (route.method == method) other = &route;
    methods += methods.empty() ? "" : " ";
    methods += route.method;
  }
  if (other && upgrade)
    return Refuse(Code::kInvalid, 400,
                  fmt::format("upgrade: /v1{} does not answer with a stream", Shown(path)),
                  "send the request without Upgrade");
  if (other)
    return Refuse(Code::kInvalid, 400,
                  fmt::format("find resource: /v1{} answers with a stream", Shown(path)),
                  "send Upgrade: cloche-stream");
  if (methods.empty())
    return Refuse(Code::kNotFound, 404,
                  fmt::format("find resource: there is no /v1{}", Shown(path)), "see openapi.yaml");
  return Refuse(
      Code::kInvalid, 405,
      fmt::format("find resource: {} is not for /v1{}", EscapeForTerminal(method), Shown(path)),
      fmt::format("use {}; see openapi.yaml", methods));
}

}  // namespace cloche::api
