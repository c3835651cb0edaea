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

// The moment a sandbox was made: what is younger in reality has moved since. A refresh makes it
// anew, a rollback returns to an earlier one.
class Birth {
 public:
  Birth();

  int64_t at_ns() const { return at_ns_; }
  // Of a state that was saved then.
  int64_t AtOf(std::chrono::system_clock::time_point saved) const;
  // By how much the clock was set back since. Of an older state it tells which birth is its own.
  int64_t ClockBack(bool older_state = false) const {
    return clock_.back_ns() + (older_state ? back_before_ns_ : 0);
  }
  bool Observe(const ClockReading& now) { return clock_.Observe(now); }  // true: it was set back

  // `stale` is what changed outside since: {both_paths, guarded}.
  void Refresh(int64_t now_ns, const Json& stale);
  void RollBackTo(std::chrono::system_clock::time_point saved);
  // Of a copy of a state that `parent` saved.
  static Birth OfFork(const Birth& parent, const std::string& parent_id,
                      std::chrono::system_clock::time_point saved);

  // Paths that changed on both sides before a refresh.
  const std::vector<std::string>& moved() const { return moved_; }
  // These and more, in base64: never promoted as if unmoved.
  const std::vector<std::string>& guarded() const { return guarded_; }
  // Of a fork: whose promotions before which moment its state already has.
  const std::map<std::string, int64_t>& ancestors() const { return ancestors_; }

  // What git knew of the project then: {project, commit, dirty}. Null: nothing of this birth.
  Json NoteFor(int64_t birth_ns) const;
  void TakeNote(Json note);
  // The event is to be set when the note was taken, or cannot be.
  std::shared_ptr<Event> ExpectNote(asio::io_context& io);
  Task<void> AwaitNote() const;

  void ToRecord(Json& record) const;
  // `created_ns` for the records of earlier versions.
  static Birth FromRecord(const Json& record, int64_t created_ns);

 private:
  int64_t at_ns_;
  ClockTrail clock_;
  int64_t back_before_ns_ = 0;    // set back before it was refreshed, and known then
  std::vector<int64_t> earlier_;  // before it was refreshed
  std::vector<std::string> moved_, guarded_;
  std::map<std::string, int64_t> ancestors_;
  Json note_;
  std::shared_ptr<Event> expected_;  // null: nobody takes one; forks of that moment share it
};

}  // namespace cloche::daemon
