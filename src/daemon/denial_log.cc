#include "daemon/denial_log.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "sys/file.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostRows = 64;  // for calls; canaries get as many again

const char* ClassName(sys::DenialClass kind) {
  switch (kind) {
    case sys::DenialClass::kViolation:
      return "violation";
    case sys::DenialClass::kReported:
      return "reported";
    default:
      return "quiet";
  }
}

std::string ProcessName(uint32_t pid) {
  std::string name;
  const std::string path = "/proc/" + std::to_string(pid) + "/comm";
  if (pid == 0 || sys::ReadFileAt(AT_FDCWD, path.c_str(), name) < 0) return "?";
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

// The filter refuses set-user-ID and set-group-ID bits in these.
bool SetsModes(std::string_view call) {
  for (const char* each : {"chmod", "fchmod", "fchmodat", "fchmodat2", "open", "openat", "creat"})
    if (call == each) return true;
  return false;
}

}  // namespace

DenialLog::Denial* DenialLog::Count(const Denial& denial, size_t most_rows, bool& first) {
  ++count_;
  const auto now = std::chrono::system_clock::now();
  auto row = std::ranges::find_if(denials_, [&](const Denial& each) {
    return each.call == denial.call && each.kind == denial.kind && each.detail == denial.detail;
  });
  first = row == denials_.end();
  if (first && denials_.size() >= most_rows) return nullptr;
  if (first) {
    row = denials_.insert(row, denial);
    row->first = now;
  }
  ++row->count;
  row->last = now;
  return &*row;
}

void DenialLog::Tell(bool first, const Json& notice) {
  for (const auto& [number, command] : commands_.all())
    if (!command->ended()) ++command->denials;
  if (first) commands_.Tell(notice);
}

std::optional<FatalLimit> DenialLog::Judge(bool violation, const std::string& what) const {
  const uint64_t budget = terms_.limits().denials.value_or(0);
  if (violation && terms_.request().on_violation == OnViolation::kKill)
    return FatalLimit{"violation", "violation: " + what};
  if (budget != 0 && count_ >= budget)
    return FatalLimit{"denials", fmt::format("limit of {} denials reached", budget)};
  return std::nullopt;
}

std::optional<FatalLimit> DenialLog::Record(const sys::SeccompNotification& notification) {
  Denial denial;
  denial.kind = sys::ClassOf(notification.number, notification.arguments);
  const char* known = sys::SyscallName(notification.number);
  denial.call = known ? known : fmt::format("syscall {}", notification.number);
  bool first = false;
  Denial* row = Count(denial, kMostRows, first);
  if (first && row) {
    row->pid = notification.pid;
    row->process = ProcessName(notification.pid);
    row->args.assign(notification.arguments, notification.arguments + 3);
  }
  Json notice;
  if (first && row)
    notice = {{"kind", "denial"},
              {"class", ClassName(denial.kind)},
              {"message",
               fmt::format("denied: {} by {} (pid {}): {}{}", denial.call,
                           EscapeForTerminal(row->process), row->pid,
                           SetsModes(denial.call) ? "no set-user-ID or set-group-ID bits where "
                                                    "files are real (--rw, --out)"
                                                  : "not allowed in a sandbox",
                           SeeAlso(terms_, sandbox_, "show"))}};
  Tell(first && row, notice);
  return Judge(denial.kind == sys::DenialClass::kViolation, denial.call);
}

// No program has a reason to send one, so it counts like a call that only attacks make.
std::optional<FatalLimit> DenialLog::RecordCanary(const std::string& canary,
                                                  const std::string& form,
                                                  const std::string& destination) {
  Denial denial;
  denial.kind = sys::DenialClass::kViolation;
  denial.call = fmt::format("send decoy {}", canary);
  denial.detail = fmt::format("{} to {}", form, destination);
  bool first = false;
  const Denial* row = Count(denial, 2 * kMostRows, first);
  const std::string violation =
      fmt::format("{}, {}", denial.call, EscapeForTerminal(denial.detail));
  Tell(first && row,
       {{"kind", "canary"},
        {"class", "violation"},
        {"message", fmt::format("violation: {}; see `cloche net {} log`", violation, sandbox_)}});
  return Judge(true, violation);
}

Json DenialLog::ToJson() const {
  Json list = Json::array();
  for (const Denial& denial : denials_) {
    list.push_back({{"call", denial.call},
                    {"args", denial.args},
                    {"pid", denial.pid},
                    {"process", denial.process},
                    {"class", ClassName(denial.kind)},
                    {"count", denial.count},
                    {"first", Rfc3339(denial.first)},
                    {"last", Rfc3339(denial.last)}});
    if (!denial.detail.empty()) list.back()["detail"] = denial.detail;
  }
  return list;
}

}  // namespace cloche::daemon
