#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cloche::change {

// Where a change belongs when people look at it. What is in another group than kReal is not shown
// unless asked for, and not promoted unless named; in the digest of a diff it is.
enum class Group : uint8_t {
  kReal,      // the project, and whatever of the home is not in the table
  kPackages,  // what package managers keep for themselves
  kCaches,    // can be made again
  kLogs,
  kTemporary,
  kHistory,  // what was typed
  kSystem,   // outside of project and home, and not in the table
};

std::string_view GroupName(Group group);  // "" for kReal, else "packages", ...
std::optional<Group> GroupFromName(std::string_view name);
inline constexpr size_t kGroups = 7;

enum class Place : uint8_t {
  kRoot,      // an absolute path
  kHome,      // a path below the home
  kAnywhere,  // these components, at any depth
};

struct NoiseRow {
  Place place;
  std::string_view path;  // the path itself and everything below it
  Group group;
  std::string_view why;
};

// A row that names part of what another row names comes before it.
std::span<const NoiseRow> NoiseTable();

// All three are clean absolute paths; `project` and `home` may be "" (there is none). The project
// wins: objects of its builds (*.o, *.a) are caches, and in it a row holds only when it is of any
// place, or names something below the project (a home's caches when the whole home is the project).
Group Classify(std::string_view path, std::string_view project, std::string_view home);

}  // namespace cloche::change
