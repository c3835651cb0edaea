#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "daemon/event.h"

namespace cloche::daemon {

// When a sandbox began to exist.
struct Lifetime {
  using Clock = std::chrono::system_clock;
  Clock::time_point created = Clock::now();
  // --life counts from here. A fork inherits its parent's, because copying does not renew a limit.
  Clock::time_point counted_from = created;

  double age_s() const {
    return std::chrono::duration<double>(Clock::now() - counted_from).count();
  }
};

// The position of a sandbox among its saved states.
class History {
 public:
  using Clock = std::chrono::steady_clock;
  History() = default;
  // `origin` is {sandbox, snapshot} for a fork, otherwise null.
  History(std::string head, bool is_current, Json origin)
      : head_(std::move(head)), is_current_(is_current), origin_(std::move(origin)) {}

  const std::string& head() const {
    return head_;
  }  // the snapshot its files last equalled; "" = base
  bool is_current() const { return is_current_; }  // and nothing has run since
  const Json& origin() const { return origin_; }
  Clock::time_point last_save() const { return last_save_; }

  void MoveTo(std::string head, bool is_current) {
    head_ = std::move(head);
    is_current_ = is_current;
  }
  void CommandStarted() { is_current_ = false; }
  void NoteSave() { last_save_ = Clock::now(); }  // or an attempt

 private:
  std::string head_;
  bool is_current_ = true;
  Json origin_;
  Clock::time_point last_save_ = Clock::now();
};

}  // namespace cloche::daemon
