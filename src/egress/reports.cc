#include "egress/reports.h"

#include <errno.h>

#include "sys/message.h"

namespace cloche::egress {
namespace {

constexpr size_t kMostWaiting = 4096;
constexpr size_t kMostOfOne = 256;
constexpr size_t kMostAlarms = 64;  // of one sandbox, that nothing else can crowd out

std::string Dump(const nlohmann::ordered_json& message) {
  return message.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

uint64_t NextConnectionNumber() {
  static uint64_t last = 0;
  return ++last;
}

bool Reports::Put(const std::string& text) {
  return sys::SendMessage(control_.fd(), text.data(), text.size()) != -EAGAIN;
}

void Reports::Flush() {
  for (; !answers_.empty(); answers_.pop_front()) {
    if (!Put(answers_.front())) return;
  }
  for (; !events_.empty(); events_.pop_front()) {
    if (!Put(events_.front().text)) return;
    const auto of = events_of_.find(events_.front().sandbox);
    if (--of->second == 0) events_of_.erase(of);
  }
  if (dropped_ == 0) return;
  if (Put(Dump({{"event", "dropped"}, {"count", dropped_}}))) dropped_ = 0;
}

void Reports::Send(const nlohmann::ordered_json& message) {
  Flush();
  std::string text = Dump(message);
  if (answers_.empty() && Put(text)) return;
  answers_.push_back(std::move(text));
}

bool Reports::Send(const Record& record, bool open) {
  nlohmann::ordered_json message{{"event", "connection"},
                                 {"connection", record.connection},
                                 {"sandbox", record.sandbox},
                                 {"time", static_cast<double>(record.time_ms) / 1000},
                                 {"kind", record.kind},
                                 {"name", record.name},
                                 {"address", record.address},
                                 {"port", record.port},
                                 {"source_port", record.source_port},
                                 {"decision", record.allowed ? "allow" : "deny"},
                                 {"rule", record.rule},
                                 {"reason", record.reason},
                                 {"bytes_up", record.bytes_up},
                                 {"bytes_down", record.bytes_down},
                                 {"duration_ms", record.duration_ms},
                                 {"state", open ? "open" : "end"}};
  if (!record.certificate_sha256.empty()) message["certificate_sha256"] = record.certificate_sha256;
  if (record.requests != 0) message["requests"] = record.requests;
  if (!record.secrets.empty()) message["secrets"] = record.secrets;
  if (record.redacted != 0) message["redacted"] = record.redacted;
  if (record.unasked) message["unasked"] = 1;
  if (!record.canary.empty()) {
    message["canary"] = record.canary;
    message["form"] = record.form;
    if (++alarms_[record.sandbox] <= kMostAlarms) {
      Send(message);
      return true;
    }
  }
  Flush();
  std::string text = Dump(message);
  if (answers_.empty() && events_.empty() && Put(text)) return true;
  const auto of = events_of_.find(record.sandbox);
  if (events_.size() == kMostWaiting || (of != events_of_.end() && of->second == kMostOfOne)) {
    ++dropped_;
    return false;
  }
  ++events_of_[record.sandbox];
  events_.push_back({record.sandbox, std::move(text)});
  return true;
}

Task<void> Reports::Run() {
  while (true) {
    co_await control_.Writable(INT64_MAX);
    Flush();
  }
}

}  // namespace cloche::egress
