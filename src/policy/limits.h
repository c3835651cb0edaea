#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "policy/facts.h"

namespace cloche {

// Absent = the default, 0 = unlimited. Sizes in bytes, times in seconds.
struct Limits {
  std::optional<double> cpu;
  std::optional<uint64_t> memory;
  std::optional<uint64_t> disk;
  std::optional<uint64_t> inodes;
  std::optional<uint64_t> pids;
  std::optional<uint64_t> files;
  std::optional<uint64_t> output;
  std::optional<double> wall;
  std::optional<double> idle;
  std::optional<double> life;
  std::optional<uint64_t> commands;
  std::optional<uint64_t> denials;
  bool operator==(const Limits&) const = default;
};

inline constexpr uint64_t kDefaultDisk = uint64_t{10} << 30;
inline constexpr uint64_t kLeastOutput = 1024;
inline constexpr uint64_t kMostOutput = uint64_t{1} << 40;
inline constexpr double kLeastSeconds = 0.001;
inline constexpr double kMostSeconds = 366.0 * 24 * 3600;

Result<Limits> ParseLimits(const nlohmann::json& object);
// A limit as people write it, "512M", "5m", as the number that ParseLimits takes.
Result<nlohmann::json> ParseLimitText(std::string_view name, std::string_view text);
nlohmann::json LimitsToJson(const Limits& limits);

// Every field set: the caller's where given, else the default for this machine.
Limits WithDefaults(const Limits& asked, const HostFacts& facts);

// `asked` over `held`, which has every field set. More than is held is refused: descendants of a
// sandbox never have more than it.
Result<Limits> WithinLimits(const Limits& asked, const Limits& held);
Limits OverLimits(const Limits& asked,
                  const Limits& others);  // what was asked for, else the others

}  // namespace cloche
