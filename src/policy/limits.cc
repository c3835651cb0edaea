#include "policy/limits.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "policy/fields.h"

namespace cloche {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kPiB = uint64_t{1} << 50;

// Half of the machine leaves the host responsive under one memory bomb; the cap keeps two at a
// time harmless on large machines, where nobody's build needs more by default.
uint64_t DefaultMemory(const HostFacts& facts) {
  if (facts.memory_bytes == 0) return 2 * kGiB;
  return std::clamp(facts.memory_bytes / 2, std::min(256 * kMiB, facts.memory_bytes), 32 * kGiB);
}

// Rootless, sandboxes and their user's own programs are one user, and the kernel refuses to pass a
// descriptor when more of the user's are on their way than the sender may have open. So fewer can
// be on their way from inside than programs outside, and Cloche's own, may have open.
constexpr uint64_t kFiles = 65'536;
constexpr uint64_t kInOneMessage = 256;  // so many more than the limit may be on their way
constexpr uint64_t kFewFiles = 4096;

uint64_t DefaultFiles(const HostFacts& facts) {
  if (facts.mode != Mode::kRootless || facts.usual_files == 0) return kFiles;
  const uint64_t share = facts.usual_files >= kFewFiles
                             ? facts.usual_files / 4 * 3
                             : std::max(facts.usual_files, 2 * kInOneMessage) - kInOneMessage;
  return std::min(kFiles, share);
}

uint64_t MostFiles(const HostFacts& facts) {
  const bool shared = facts.mode == Mode::kRootless && facts.most_files != 0;
  return shared ? facts.most_files / 4 * 3 : UINT64_MAX;
}

}  // namespace

Result<Limits> ParseLimits(const nlohmann::json& object) {
  Limits limits;
  FieldReader reader(object, "limits");
  reader.Cpus("cpu", limits.cpu);
  // Below 4 MiB nothing starts: the kernel charges a process's page tables too.
  reader.Integer("memory", limits.memory, {.least = 4 * kMiB, .most = kPiB, .bytes = true});
  reader.Integer("disk", limits.disk, {.least = kMiB, .most = kPiB, .bytes = true});
  reader.Integer("inodes", limits.inodes, {.least = 16, .most = 1'000'000'000'000});
  // One for init, one for the command.
  reader.Integer("pids", limits.pids, {.least = 2, .most = 4'194'304});
  reader.Integer("files", limits.files, {.least = 16, .most = 1'048'576});
  reader.Integer("output", limits.output,
                 {.least = kLeastOutput, .most = kMostOutput, .bytes = true});
  for (auto [key, field] :
       {std::pair{"wall", &limits.wall}, {"idle", &limits.idle}, {"life", &limits.life}})
    reader.Seconds(key, *field, {.least = kLeastSeconds, .most = kMostSeconds});
  reader.Integer("commands", limits.commands,
                 {.least = 1, .most = 1'000'000'000, .zero_is_unlimited = true});
  reader.Integer("denials", limits.denials,
                 {.least = 1, .most = 1'000'000'000, .zero_is_unlimited = true});
  CLOCHE_TRY(reader.Finish());
  return limits;
}

Result<nlohmann::json> ParseLimitText(std::string_view name, std::string_view text) {
  if (name == "cpu") {
    ASSIGN_OR_RETURN(const double cpus, ParseCpu(text));
    return cpus;
  }
  if (name == "memory" || name == "disk" || name == "output") {
    ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
    return bytes;
  }
  if (name == "wall" || name == "idle" || name == "life") {
    ASSIGN_OR_RETURN(const double seconds, ParseDuration(text));
    return seconds;
  }
  ASSIGN_OR_RETURN(const uint64_t count, ParseCount(text));
  return count;
}

nlohmann::json LimitsToJson(const Limits& limits) {
  nlohmann::json out = nlohmann::json::object();
  const auto put = [&](const char* key, const auto& field) {
    if (field) out[key] = *field;
  };
  put("cpu", limits.cpu);
  put("memory", limits.memory);
  put("disk", limits.disk);
  put("inodes", limits.inodes);
  put("pids", limits.pids);
  put("files", limits.files);
  put("output", limits.output);
  put("wall", limits.wall);
  put("idle", limits.idle);
  put("life", limits.life);
  put("commands", limits.commands);
  put("denials", limits.denials);
  return out;
}

Limits WithDefaults(const Limits& asked, const HostFacts& facts) {
  return {
      .cpu = asked.cpu.value_or(0),
      .memory = asked.memory.value_or(DefaultMemory(facts)),
      .disk = asked.disk.value_or(kDefaultDisk),
      .inodes = asked.inodes.value_or(1'000'000),
      .pids = asked.pids.value_or(1024),
      .files = std::min(asked.files.value_or(DefaultFiles(facts)), MostFiles(facts)),
      .output = asked.output.value_or(16 * kMiB),
      .wall = asked.wall.value_or(0),
      .idle = asked.idle.value_or(0),
      .life = asked.life.value_or(24 * 3600),
      .commands = asked.commands.value_or(0),
      .denials = asked.denials.value_or(0),
  };
}

namespace {

// Calls `take` with the name and both fields of each limit.
template <typename Take>
void ForEachLimit(const Limits& asked, Limits& other, Take take) {
  take("cpu", asked.cpu, other.cpu);
  take("memory", asked.memory, other.memory);
  take("disk", asked.disk, other.disk);
  take("inodes", asked.inodes, other.inodes);
  take("pids", asked.pids, other.pids);
  take("files", asked.files, other.files);
  take("output", asked.output, other.output);
  take("wall", asked.wall, other.wall);
  take("idle", asked.idle, other.idle);
  take("life", asked.life, other.life);
  take("commands", asked.commands, other.commands);
  take("denials", asked.denials, other.denials);
}

}  // namespace

Limits OverLimits(const Limits& asked, const Limits& others) {
  Limits both = others;
  ForEachLimit(asked, both, [](const char*, const auto& wanted, auto& field) {
    if (wanted) field = wanted;
  });
  return both;
}

Result<Limits> WithinLimits(const Limits& asked, const Limits& held) {
  Limits both = held;
  Status status;
  ForEachLimit(asked, both, [&](const char* name, const auto& wanted, auto& field) {
    if (!wanted) return;
    const auto most = field.value_or(0);
    if (most != 0 && (*wanted == 0 || *wanted > most) && status)
      status = Fail(
          Code::kDenied,
          fmt::format("read limits.{}: more than the {} of what it is copied from", name, most),
          "ask for less, or make a new sandbox: cloche new");
    field = wanted;
  });
  CLOCHE_TRY(status);
  return both;
}

}  // namespace cloche
