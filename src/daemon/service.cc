#include "daemon/service.h"

#include <cstring>

#include "base/frames.h"

namespace cloche::daemon {
namespace {

constexpr size_t kMostDeaths = 5;
constexpr std::chrono::seconds kDeathWindow{60};

}  // namespace

void Service::Become(State next, std::string why) {
  state = next;
  reason = std::move(why);
  changed.Pulse();
}

bool Service::MayRestart() {
  const auto now = std::chrono::steady_clock::now();
  deaths_.push_back(now);
  while (now - deaths_.front() > kDeathWindow) deaths_.pop_front();
  return deaths_.size() <= kMostDeaths;
}

// Only cloche-service itself writes to this standard output: a single line.
void Service::Deliver(std::string frames) {
  unsigned char bytes[kFrameHeader];
  if (frames.size() < sizeof bytes || state != State::kStarting) return;
  std::memcpy(bytes, frames.data(), sizeof bytes);
  FrameHead head;
  if (ParseFrameHead(bytes, head) && head.type == FrameType::kStdout &&
      frames.find("ready\n") != std::string::npos)
    Become(State::kReady);
}

void Service::Describe(Json& json) const {
  static constexpr const char* kStates[] = {"stopped", "starting", "ready", "failed"};
  json["state"] = kStates[static_cast<int>(state)];
  json["reason"] = reason;
  json["restarts"] = restarts;
}

}  // namespace cloche::daemon
