#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cloche::change {

// The group under which a change is shown. Groups other than kReal are shown only on request and
// promoted only by name, but they are part of a diff's digest.
enum class Group : uint8_t {
  kReal,      // the project, and anything in the home that is not in the table
  kPackages,  // kept by package managers
  kCaches,    // can be made again
  kLogs,
  kTemporary,
  kHistory,  // typed commands
  kSystem,   // outside project and home, and not in the table
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

// If two rows overlap, the more specific one comes first.
std::span<const NoiseRow> NoiseTable();

// All three are clean absolute paths; `project` and `home` may be "" (none). The project wins: its
// build objects (*.o, *.a) are caches, and otherwise only kAnywhere rows and rows that name
// something below the project apply in it (a home's caches if the whole home is the project).
Group Classify(std::string_view path, std::string_view project, std::string_view home);

}  // namespace cloche::change
