#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock_trail.h"
#include "daemon/event.h"

namespace cloche::daemon {

// The moment a sandbox was made: anything younger in reality has moved since. A refresh sets it
// anew; a rollback returns to an earlier one.
class Birth {
 public:
  Birth();

  int64_t at_ns() const { return at_ns_; }
  // The birth of a state saved at this time.
  int64_t AtOf(std::chrono::system_clock::time_point saved) const;
  // How far the clock was set back since. For an older state, includes the time before refreshes.
  int64_t ClockBack(bool older_state = false) const {
    return clock_.back_ns() + (older_state ? back_before_ns_ : 0);
  }
  bool Observe(const ClockReading& now) { return clock_.Observe(now); }  // true: it was set back

  // `stale` says what changed outside since: {both_paths, guarded}.
  void Refresh(int64_t now_ns, const Json& stale);
  void RollBackTo(std::chrono::system_clock::time_point saved);
  // The birth of a copy of a state that `parent` saved.
  static Birth OfFork(const Birth& parent, const std::string& parent_id,
                      std::chrono::system_clock::time_point saved);

  // Paths that changed on both sides before a refresh.
  const std::vector<std::string>& moved() const { return moved_; }
  // These and more, in base64: never promoted as if unmoved.
  const std::vector<std::string>& guarded() const { return guarded_; }
  // For a fork: its ancestors, and until when its state includes their promotions.
  const std::map<std::string, int64_t>& ancestors() const { return ancestors_; }

  // Git's knowledge of the project at that time: {project, commit, dirty}. Null: none for this
  // birth.
  Json NoteFor(int64_t birth_ns) const;
  void TakeNote(Json note);
  // Set the event once the note has been taken, or cannot be.
  std::shared_ptr<Event> ExpectNote(asio::io_context& io);
  Task<void> AwaitNote() const;

  void ToRecord(Json& record) const;
  // `created_ns` is for records of earlier versions.
  static Birth FromRecord(const Json& record, int64_t created_ns);

 private:
  int64_t at_ns_;
  ClockTrail clock_;
  int64_t back_before_ns_ = 0;    // set back before the last refresh, as known then
  std::vector<int64_t> earlier_;  // births before refreshes
  std::vector<std::string> moved_, guarded_;
  std::map<std::string, int64_t> ancestors_;
  Json note_;
  std::shared_ptr<Event> expected_;  // null: no note is coming; forks of that moment share it
};

}  // namespace cloche::daemon
