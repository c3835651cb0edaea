#include "daemon/network_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/network_line.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostRead = size_t{64} << 20;

std::vector<std::string> LinesOf(const std::string& path) {
  std::string text;
  if (sys::ReadFileAt(AT_FDCWD, path.c_str(), text, kMostRead) < 0) return {};
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // an incomplete line: the daemon died writing it
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

uint64_t NumberOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

}  // namespace

void NetworkLog::Count(const Json& record) {
  ++totals_.records;
  const auto decision = record.find("decision");
  const bool allowed = decision != record.end() && *decision == "allow";
  (allowed ? totals_.allowed : totals_.denied) += 1;
  totals_.bytes_up += NumberOf(record, "bytes_up");
  totals_.bytes_down += NumberOf(record, "bytes_down");
}

// The first line of the oldest file holds the counts from before it.
void NetworkLog::Open() {
  if (opened_) return;
  opened_ = true;
  bool first = true;
  for (const bool older : {true, false}) {
    uint64_t& count = older ? in_older_ : in_file_;
    for (const std::string& line : LinesOf(older ? path_ + ".1" : path_)) {
      if (!older) size_ += line.size() + 1;
      const Json json = Json::parse(line, nullptr, false);
      if (!json.is_object()) continue;
      if (json.contains("before")) {
        const Json& before = json["before"];
        if (!std::exchange(first, false) || !before.is_object()) continue;
        totals_ = {NumberOf(before, "records"),  NumberOf(before, "records"),
                   NumberOf(before, "allowed"),  NumberOf(before, "denied"),
                   NumberOf(before, "bytes_up"), NumberOf(before, "bytes_down")};
        continue;
      }
      ++count;
      Count(json);
    }
  }
}

void NetworkLog::WriteHead() {
  const Json before = {{"records", totals_.records},
                       {"allowed", totals_.allowed},
                       {"denied", totals_.denied},
                       {"bytes_up", totals_.bytes_up},
                       {"bytes_down", totals_.bytes_down}};
  const std::string line = Json{{"cloche", "network-log 1"}, {"before", before}}.dump() + "\n";
  const sys::Fd file(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.valid()) (void)!write(file.get(), line.data(), line.size());
  size_ = line.size();
  in_file_ = 0;
}

void NetworkLog::Turn() {
  totals_.dropped += in_older_;
  rename(path_.c_str(), (path_ + ".1").c_str());
  in_older_ = in_file_;
  WriteHead();
}

void NetworkLog::Append(const Json& record) {
  Open();
  if (size_ == 0) WriteHead();
  if (size_ >= most_bytes_) Turn();
  const std::string line = LineOf(record) + "\n";
  const sys::Fd file(open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  Count(record);
  // On a full disk the record is lost, and counted as dropped.
  if (!file.valid() ||
      write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    ++totals_.dropped;
    return;
  }
  ++in_file_;
  size_ += line.size();
}

std::vector<std::string> NetworkLog::Lines() const {
  std::vector<std::string> lines;
  for (const std::string& path : {path_ + ".1", path_})
    for (std::string& line : LinesOf(path))
      if (!line.starts_with("{\"cloche\":")) lines.push_back(std::move(line));
  return lines;
}

const NetworkLog::Totals& NetworkLog::totals() {
  Open();
  return totals_;
}

}  // namespace cloche::daemon
