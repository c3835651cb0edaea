#include "change/model/noise.h"

#include <array>

namespace cloche::change {
namespace {

using enum Group;
using enum Place;

constexpr std::array<std::string_view, kGroups> kNames = {"",          "packages", "caches", "logs",
                                                          "temporary", "history",  "system"};

constexpr std::string_view kRegenerated = "made again from the source beside it";
constexpr std::string_view kDownloaded = "downloads kept to save time";
constexpr std::string_view kInstalled = "what is installed, noted by whoever installed it";
constexpr std::string_view kTyped = "what was typed or looked at";
constexpr std::string_view kWritten = "written by running programs, read by people";
constexpr std::string_view kGone = "gone after a restart, or soon after";

constexpr std::array kTable = {
    NoiseRow{kAnywhere, "__pycache__", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".pytest_cache", kCaches, "results of the last test run"},
    NoiseRow{kAnywhere, ".mypy_cache", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".ruff_cache", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".hypothesis", kCaches, "examples found by earlier test runs"},
    NoiseRow{kAnywhere, ".ipynb_checkpoints", kCaches, "copies an editor keeps"},
    NoiseRow{kAnywhere, "node_modules/.cache", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".parcel-cache", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".turbo/cache", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".next/cache", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".eslintcache", kCaches, kRegenerated},
    NoiseRow{kAnywhere, ".gradle/caches", kCaches, kDownloaded},
    NoiseRow{kAnywhere, ".ccache", kCaches, kRegenerated},

    NoiseRow{kHome, ".npm/_logs", kLogs, kWritten},
    NoiseRow{kHome, ".npm", kPackages, kDownloaded},
    NoiseRow{kHome, ".yarn/cache", kPackages, kDownloaded},
    NoiseRow{kHome, ".local/share/pnpm/store", kPackages, kDownloaded},
    NoiseRow{kHome, ".bun/install/cache", kPackages, kDownloaded},
    NoiseRow{kHome, ".cargo/registry", kPackages, kDownloaded},
    NoiseRow{kHome, ".cargo/git", kPackages, kDownloaded},
    NoiseRow{kHome, ".cargo/.package-cache", kPackages, "a lock file"},
    NoiseRow{kHome, ".cargo/.global-cache", kPackages, "when which download was used"},
    NoiseRow{kHome, ".rustup/downloads", kPackages, kDownloaded},
    NoiseRow{kHome, ".rustup/tmp", kPackages, kDownloaded},
    NoiseRow{kHome, "go/pkg/mod", kPackages, kDownloaded},
    NoiseRow{kHome, "go/pkg/sumdb", kPackages, "checksums of downloads"},
    NoiseRow{kHome, ".m2/repository", kPackages, kDownloaded},
    NoiseRow{kHome, ".ivy2/cache", kPackages, kDownloaded},
    NoiseRow{kHome, ".gem/specs", kPackages, kDownloaded},
    NoiseRow{kHome, ".bundle/cache", kPackages, kDownloaded},
    NoiseRow{kHome, ".composer/cache", kPackages, kDownloaded},
    NoiseRow{kHome, ".nuget/packages", kPackages, kDownloaded},
    NoiseRow{kHome, ".conda/pkgs", kPackages, kDownloaded},
    NoiseRow{kHome, ".cache", kCaches, "where programs put what they can make again"},
    NoiseRow{kHome, ".thumbnails", kCaches, kRegenerated},
    NoiseRow{kHome, ".local/share/Trash", kTemporary, "thrown away"},
    NoiseRow{kHome, ".xsession-errors", kLogs, kWritten},
    NoiseRow{kHome, ".pm2/logs", kLogs, kWritten},
    NoiseRow{kHome, ".bash_history", kHistory, kTyped},
    NoiseRow{kHome, ".zsh_history", kHistory, kTyped},
    NoiseRow{kHome, ".zsh_sessions", kHistory, kTyped},
    NoiseRow{kHome, ".local/share/fish/fish_history", kHistory, kTyped},
    NoiseRow{kHome, ".ash_history", kHistory, kTyped},
    NoiseRow{kHome, ".sh_history", kHistory, kTyped},
    NoiseRow{kHome, ".python_history", kHistory, kTyped},
    NoiseRow{kHome, ".ipython/profile_default/history.sqlite", kHistory, kTyped},
    NoiseRow{kHome, ".node_repl_history", kHistory, kTyped},
    NoiseRow{kHome, ".irb_history", kHistory, kTyped},
    NoiseRow{kHome, ".psql_history", kHistory, kTyped},
    NoiseRow{kHome, ".mysql_history", kHistory, kTyped},
    NoiseRow{kHome, ".sqlite_history", kHistory, kTyped},
    NoiseRow{kHome, ".rediscli_history", kHistory, kTyped},
    NoiseRow{kHome, ".mongosh", kHistory, kTyped},
    NoiseRow{kHome, ".gdb_history", kHistory, kTyped},
    NoiseRow{kHome, ".viminfo", kHistory, kTyped},
    NoiseRow{kHome, ".local/share/nvim/shada", kHistory, kTyped},
    NoiseRow{kHome, ".local/state/nvim/shada", kHistory, kTyped},
    NoiseRow{kHome, ".lesshst", kHistory, kTyped},
    NoiseRow{kHome, ".local/state/lesshst", kHistory, kTyped},
    NoiseRow{kHome, ".wget-hsts", kHistory, kTyped},
    NoiseRow{kHome, ".local/share/recently-used.xbel", kHistory, kTyped},

    NoiseRow{kRoot, "/var/lib/apt", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/lib/dpkg", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/cache/apt", kPackages, kDownloaded},
    NoiseRow{kRoot, "/var/cache/debconf", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/lib/rpm", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/lib/dnf", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/cache/dnf", kPackages, kDownloaded},
    NoiseRow{kRoot, "/var/lib/pacman", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/cache/pacman", kPackages, kDownloaded},
    NoiseRow{kRoot, "/lib/apk/db", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/cache/apk", kPackages, kDownloaded},
    NoiseRow{kRoot, "/var/lib/systemd/deb-systemd-helper-enabled", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/lib/systemd/deb-systemd-user-helper-enabled", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/lib/ucf", kPackages, kInstalled},
    NoiseRow{kRoot, "/var/cache", kCaches, "where programs put what they can make again"},
    NoiseRow{kRoot, "/var/log", kLogs, kWritten},
    NoiseRow{kRoot, "/tmp", kTemporary, kGone},
    NoiseRow{kRoot, "/var/tmp", kTemporary, kGone},
    NoiseRow{kRoot, "/dev/shm", kTemporary, kGone},
    NoiseRow{kRoot, "/run", kTemporary, kGone},
};

// Whether `path` is `top` or below it.
bool IsWithin(std::string_view path, std::string_view top) {
  if (top == "/") return true;
  return !top.empty() && path.starts_with(top) &&
         (path.size() == top.size() || path[top.size()] == '/');
}

bool HasComponents(std::string_view path, std::string_view components) {
  for (size_t at = path.find(components); at != std::string_view::npos;
       at = path.find(components, at + 1)) {
    const size_t end = at + components.size();
    if (at > 0 && path[at - 1] == '/' && (end == path.size() || path[end] == '/')) return true;
  }
  return false;
}

// The next build makes these again, and would link a newer one as its own.
bool IsObject(std::string_view rest) {
  const std::string_view name = rest.substr(rest.rfind('/') + 1);
  for (const std::string_view ending : {".o", ".a", ".lo", ".obj"})
    if (name.size() > ending.size() && name.ends_with(ending)) return true;
  return false;
}

// `path` relative to `top`, which contains it: "" or "/...".
std::string_view Below(std::string_view path, std::string_view top) {
  return top == "/" ? path : path.substr(top.size());
}

// Whether `rest`, as returned by Below, is `relative` or below it.
bool StartsWith(std::string_view rest, std::string_view relative) {
  return rest.starts_with('/') && IsWithin(rest.substr(1), relative);
}

// The length of the path that `row` names if it contains `path`, otherwise 0.
size_t MatchedLength(const NoiseRow& row, std::string_view path, std::string_view home) {
  if (row.place == kRoot) return IsWithin(path, row.path) ? row.path.size() : 0;
  const std::string_view rest = Below(path, home);
  return StartsWith(rest, row.path) ? path.size() - rest.size() + 1 + row.path.size() : 0;
}

}  // namespace

std::string_view GroupName(Group group) { return kNames.at(static_cast<size_t>(group)); }

std::optional<Group> GroupFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Group>(i);
  return std::nullopt;
}

std::span<const NoiseRow> NoiseTable() { return kTable; }

Group Classify(std::string_view path, std::string_view project, std::string_view home) {
  const bool in_project = IsWithin(path, project);
  const bool in_home = IsWithin(path, home);
  // kAnywhere rows match only below the project: a project is not a cache just because of where it
  // lies.
  const std::string_view inner = in_project ? Below(path, project) : path;
  for (const NoiseRow& row : kTable) {
    if (row.place == kAnywhere) {
      if (HasComponents(inner, row.path)) return row.group;
      continue;
    }
    // In the home directory only its own rows apply: a home in /tmp is still a home.
    if (in_home != (row.place == kHome) && !(row.place == kRoot && home == "/")) continue;
    const size_t length = MatchedLength(row, path, home);
    if (length == 0) continue;
    // Only below the project, not the project itself or above it.
    if (in_project && length <= (project == "/" ? 0 : project.size())) continue;
    return row.group;
  }
  if (in_project && IsObject(inner)) return kCaches;
  return in_project || in_home ? kReal : kSystem;
}

}  // namespace cloche::change
