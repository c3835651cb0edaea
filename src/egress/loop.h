#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "sys/fd.h"
#include "sys/poller.h"

namespace cloche::egress {

class Socket;

enum class Wake : uint8_t { kReady, kLate, kCut };

// One thread, one epoll: resumes coroutines whose socket is ready, or that waited too long. Those
// of one group (a sandbox) share its turns, and groups take turns: however many connections one
// has, the others wait for a single turn of it.
class Loop {
 public:
  int Open();
  void Run();  // until Stop
  void Stop() { stopped_ = true; }
  void EverySecond(std::function<void()> call) { every_second_ = std::move(call); }

  int64_t now() const { return now_; }  // milliseconds of a monotonic clock
  int64_t Seconds() const;              // since 1970

  using Group = uint32_t;
  static constexpr Group kOurselves = 0;
  Group NewGroup();
  void EndGroup(Group group);  // its number is given again; whoever still has it shares turns
  Group group() const { return current_; }
  // Work, and sockets that are made, belong to `group` until this goes.
  class As {
   public:
    As(Loop& loop, Group group) : loop_(loop), before_(std::exchange(loop.current_, group)) {}
    ~As() { loop_.current_ = before_; }
    As(const As&) = delete;
    As& operator=(const As&) = delete;

   private:
    Loop& loop_;
    Group before_;
  };

  // Resumed soon, not here: the caller's own frame may hang on it.
  void Post(std::coroutine_handle<> waiter, Group group) { Queue(group, {.waiter = waiter}); }
  void Post(std::coroutine_handle<> waiter) { Post(waiter, current_); }
  // True if the running group has had the thread for long enough.
  bool TurnIsOver() const;

 private:
  friend class Socket;
  struct Slot {
    Socket* socket = nullptr;
    uint32_t generation = 0;
  };
  // Something to be resumed: `waiter`, or if it is null, the coroutine that waits at a socket.
  struct Ready {
    std::coroutine_handle<> waiter;
    uint64_t tag = 0;
    bool reads = false, late = false;
  };
  void Queue(Group group, Ready ready);
  void Resume(const Ready& ready);
  void TakeTurns();
  uint64_t Register(Socket* socket, int fd);
  void Unregister(uint64_t tag, int fd);
  Socket* Find(uint64_t tag);
  void Expect(int64_t deadline) {
    if (deadline < next_deadline_) next_deadline_ = deadline;
  }
  void ExpectSoon(uint64_t tag) { soon_.push_back(tag); }
  void WakeLate();
  void WakeSoon();
  int Timeout() const;

  sys::Poller poller_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::vector<std::deque<Ready>> ready_ = std::vector<std::deque<Ready>>(1);  // by group
  std::vector<Group> free_groups_;
  std::deque<Group> turns_;  // groups that have something ready, in their order
  Group current_ = kOurselves;
  int64_t turn_began_ = 0;      // in microseconds
  std::vector<uint64_t> soon_;  // sockets with a reader whose deadline is exact
  std::function<void()> every_second_;
  int64_t now_ = 0, next_deadline_ = INT64_MAX, last_sweep_ = 0, last_second_ = 0;
  bool stopped_ = false;
};

// A descriptor in the loop. At most one coroutine waits for it in each direction.
class Socket {
 public:
  Socket(Loop& loop, sys::Fd fd);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_.get(); }
  Loop& loop() const { return loop_; }
  Loop::Group group() const { return group_; }
  bool valid() const { return registered_; }

  class Wait;
  // After EAGAIN: until there is something to read, or room to write. Deadlines are kept within
  // 50 ms, or with kExact within 1 ms.
  enum class Deadline : uint8_t { kAbout, kExact };
  Wait Readable(int64_t deadline, Deadline kept = Deadline::kAbout);
  Wait Writable(int64_t deadline);
  // After a read that got less than it asked for there is no need to read again until EAGAIN,
  // unless the other side has ended: epoll reports that only once.
  void Drained() {
    if (!ended_) read_.ready = false;
  }
  bool drained() const { return !read_.ready; }
  // Called when nobody reads any more what we write, also while nobody waits here. It must not end
  // this socket.
  void WhenGone(std::function<void()> call) {
    when_gone_ = std::move(call);
    if (gone_ && when_gone_) when_gone_();
  }
  // Wakes all waiters with the news that it is cut; later waits end at once.
  void Cut();
  bool cut() const { return cut_; }

 private:
  friend class Loop;
  struct Side {
    bool ready = true;
    bool queued = false;  // and its turn has not come
    Wake wake = Wake::kReady;
    int64_t deadline = INT64_MAX;
    std::coroutine_handle<> waiter;
  };
  static void Resume(Side& side, Wake wake);

  Loop& loop_;
  sys::Fd fd_;
  Loop::Group group_;
  uint64_t tag_ = 0;
  bool registered_ = false, cut_ = false, ended_ = false, gone_ = false;
  bool exact_ = false, listed_ = false;  // the reader's deadline is; the loop looks for it
  Side read_, write_;
  std::function<void()> when_gone_;
};

class Socket::Wait {
 public:
  Wait(Socket& socket, Side& side, int64_t deadline)
      : socket_(socket), side_(side), deadline_(deadline) {}
  bool await_ready() const noexcept { return socket_.cut_ || side_.ready; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept {
    side_.waiter = waiter;
    side_.deadline = deadline_;
    socket_.loop_.Expect(deadline_);
  }
  Wake await_resume() const noexcept {
    if (socket_.cut_) return Wake::kCut;
    return side_.ready ? Wake::kReady : side_.wake;
  }

 private:
  Socket& socket_;
  Side& side_;
  int64_t deadline_;
};

inline Socket::Wait Socket::Readable(int64_t deadline, Deadline kept) {
  read_.ready = false;
  exact_ = kept == Deadline::kExact;
  if (exact_ && !listed_) loop_.ExpectSoon(tag_);
  listed_ = listed_ || exact_;
  return Wait(*this, read_, deadline);
}
inline Socket::Wait Socket::Writable(int64_t deadline) {
  write_.ready = false;
  return Wait(*this, write_, deadline);
}

// Lets other groups run first: a connection that is always ready must not have the thread alone.
struct Yield {
  Loop& loop;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) const { loop.Post(waiter); }
  void await_resume() const noexcept {}
};

// Something that happens once, and its one waiter.
class Signal {
 public:
  explicit Signal(Loop& loop) : loop_(loop) {}
  Signal(const Signal&) = delete;  // g++ 12 would wait for a copy in `co_await *pointer`
  Signal& operator=(const Signal&) = delete;
  void Set() {
    set_ = true;
    if (waiter_) loop_.Post(std::exchange(waiter_, {}), group_);
  }
  bool await_ready() const noexcept { return set_; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    group_ = loop_.group();
  }
  void await_resume() const noexcept {}

 private:
  Loop& loop_;
  bool set_ = false;
  Loop::Group group_ = Loop::kOurselves;  // of the waiter
  std::coroutine_handle<> waiter_;
};

// Something that happens again and again, and the one waiter for the next time.
class Bell {
 public:
  explicit Bell(Loop& loop) : loop_(loop) {}
  void Ring() {
    rung_ = true;
    if (waiter_) loop_.Post(std::exchange(waiter_, {}), group_);
  }
  bool await_ready() const noexcept { return rung_; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    group_ = loop_.group();
  }
  void await_resume() noexcept { rung_ = false; }

 private:
  Loop& loop_;
  bool rung_ = false;
  Loop::Group group_ = Loop::kOurselves;  // of the waiter
  std::coroutine_handle<> waiter_;
};

}  // namespace cloche::egress
