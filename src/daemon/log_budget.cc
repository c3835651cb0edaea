#include "daemon/log_budget.h"

#include <filesystem>

namespace cloche::daemon {

void LogBudget::Add(uint32_t owner, const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) return;
  Logs& logs = owners_[owner];
  logs.oldest_first.push_back({path, bytes});
  logs.bytes += bytes;
  while (logs.bytes > most_bytes_ && logs.oldest_first.size() > 1) {
    const Log& oldest = logs.oldest_first.front();
    // Its command may still hold it open: truncating frees the space anyway.
    std::filesystem::resize_file(oldest.path, 0, error);
    std::filesystem::remove(oldest.path, error);
    logs.bytes -= oldest.bytes;
    logs.oldest_first.pop_front();
  }
}

}  // namespace cloche::daemon
