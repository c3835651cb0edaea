#include "pipeline/health.h"

#include <fmt/core.h>

namespace cloche::pipeline {
namespace {

using Clock = std::chrono::steady_clock;

// A command that takes longer is not healthy.
constexpr std::chrono::seconds kPatience{60};

Launch ShellCommand(const Workplace& place, std::vector<std::string> before,
                    const std::string& command) {
  Launch launch;
  launch.argv = std::move(before);
  for (const char* word : {"/bin/sh", "-c"}) launch.argv.push_back(word);
  launch.argv.push_back(command);
  launch.directory = place.project;
  return launch;
}

}  // namespace

Launch OnHost(const Workplace& place, const std::string& command) {
  return ShellCommand(place, {}, command);
}

Launch InSandbox(const Workplace& place, const std::string& sandbox, const std::string& command) {
  return ShellCommand(
      place, {place.program, "exec", "-T", "--output", "16M", "--wall", "1h", sandbox, "--"},
      command);
}

Launch InFreshSandbox(const Workplace& place, const std::string& command) {
  return ShellCommand(
      place, {place.program, "run", "-T", "--quiet", "--output", "16M", "--wall", "10m", "--"},
      command);
}

Json ToJson(const Finding& finding) {
  return {{"command", finding.command},
          {"status", finding.status},
          {"seconds", finding.seconds},
          {"log", finding.log}};
}

std::optional<pollfd> HealthWatch::Interest() const {
  if (!child_) return std::nullopt;
  return pollfd{child_->fd(), POLLIN, 0};
}

Status HealthWatch::StartNext() {
  finding_ = {what_.health[next_], 0, 0, fmt::format("{}-health-{}.log", what_.name, next_ + 1)};
  Launch launch = what_.HealthOnHost() ? OnHost(place_, finding_.command)
                                       : InFreshSandbox(place_, finding_.command);
  ASSIGN_OR_RETURN(const sys::Fd log, journal_.OpenLog(finding_.log));
  launch.log = log.get();
  ASSIGN_OR_RETURN(Child child, Child::Prepare(launch));
  child_.emplace(std::move(child));
  child_->LetGo();
  began_ = Clock::now();
  return {};
}

Result<bool> HealthWatch::Look() {
  if (over_) return false;
  if (child_) {
    pollfd ended = {child_->fd(), POLLIN, 0};
    const bool late = Clock::now() - began_ > kPatience;
    if (poll(&ended, 1, 0) <= 0 && !late) return false;
    if (late) child_->End();
    finding_.status = late ? 124 : child_->Wait();
    finding_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    child_.reset();
    if (finding_.status != 0) {
      over_ = true;
      return true;
    }
    next_ = (next_ + 1) % what_.health.size();
    if (next_ == 0) {
      ++rounds_;
      due_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(what_.health_every));
      over_ = WallClock::now() >= until_;
    }
  }
  // Its last round is when its time is over, not one interval later.
  if (!child_ && rounds_ > 0 && next_ == 0 && WallClock::now() >= until_) due_ = Clock::now();
  if (!over_ && !child_ && (next_ != 0 || Clock::now() >= due_)) CLOCHE_TRY(StartNext());
  return false;
}

}  // namespace cloche::pipeline
