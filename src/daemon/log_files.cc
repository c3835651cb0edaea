#include "daemon/log_files.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>

namespace cloche::daemon {
namespace {

std::string SandboxOf(const std::filesystem::path& log) {
  const std::string name = log.filename();
  return name.substr(0, name.find('-'));
}

}  // namespace

LogFile LogFiles::For(const std::string& sandbox, uint32_t owner, uint32_t command) const {
  LogFile log;
  log.path = fmt::format("{}/{}-{}.log", directory_, sandbox, command);
  log.reader = owner;
  return log;
}

std::string LogFiles::NetworkLog(const std::string& sandbox) const {
  return fmt::format("{}/{}-network.jsonl", directory_, sandbox);
}

void LogFiles::Ended(uint32_t owner, CommandRun& command) {
  if (const std::string path = command.output().log_path(); !path.empty()) budget_.Add(owner, path);
}

void LogFiles::Remove(const std::string& sandbox) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error))
    if (SandboxOf(entry.path()) == sandbox) std::filesystem::remove(entry.path(), error);
}

void LogFiles::RemoveStale(const std::function<bool(const std::string& sandbox)>& exists) {
  std::error_code error;
  const auto yesterday = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error))
    if (!exists(SandboxOf(entry.path())) && entry.last_write_time(error) < yesterday)
      std::filesystem::remove(entry.path(), error);
}

}  // namespace cloche::daemon
