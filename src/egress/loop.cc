#include "egress/loop.h"

#include <errno.h>
#include <time.h>

#include <algorithm>
#include <utility>

namespace cloche::egress {
namespace {

// Deadlines are kept this exactly; nothing here needs a finer clock.
constexpr int64_t kSweepMs = 50;
// The turn of one group. Work that cannot be interrupted may take longer; then the others come
// first.
constexpr int64_t kTurnUs = 1000;

int64_t Microseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

int64_t Milliseconds(clockid_t clock) { return Microseconds(clock) / 1000; }

}  // namespace

int Loop::Open() {
  now_ = last_second_ = Milliseconds(CLOCK_MONOTONIC);
  return poller_.Open();
}

int64_t Loop::Seconds() const { return Milliseconds(CLOCK_REALTIME) / 1000; }

uint64_t Loop::Register(Socket* socket, int fd) {
  if (free_.empty()) {
    slots_.emplace_back();
    free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
  }
  const uint32_t index = free_.back();
  Slot& slot = slots_[index];
  const uint64_t tag = static_cast<uint64_t>(++slot.generation) << 32 | index;
  if (poller_.Add(fd, tag) < 0) return 0;
  free_.pop_back();
  slot.socket = socket;
  return tag;
}

void Loop::Unregister(uint64_t tag, int fd) {
  poller_.Remove(fd);
  const auto index = static_cast<uint32_t>(tag);
  slots_[index].socket = nullptr;
  free_.push_back(index);
}

Socket* Loop::Find(uint64_t tag) {
  const Slot& slot = slots_[static_cast<uint32_t>(tag)];
  return slot.generation == tag >> 32 ? slot.socket : nullptr;
}

Loop::Group Loop::NewGroup() {
  if (free_groups_.empty()) {
    ready_.emplace_back();
    return static_cast<Group>(ready_.size() - 1);
  }
  const Group group = free_groups_.back();
  free_groups_.pop_back();
  return group;
}

void Loop::EndGroup(Group group) { free_groups_.push_back(group); }

void Loop::Queue(Group group, Ready ready) {
  if (ready_[group].empty()) turns_.push_back(group);
  ready_[group].push_back(ready);
}

bool Loop::TurnIsOver() const { return Microseconds(CLOCK_MONOTONIC) - turn_began_ >= kTurnUs; }

void Loop::Resume(const Ready& ready) {
  if (ready.waiter) return ready.waiter.resume();
  Socket* socket = Find(ready.tag);
  if (socket == nullptr) return;
  Socket::Side& side = ready.reads ? socket->read_ : socket->write_;
  if (!ready.late) side.queued = false;
  // The waiter may have continued meanwhile, and wait again.
  if (ready.late ? side.deadline <= now_ : side.ready)
    Socket::Resume(side, ready.late ? Wake::kLate : Wake::kReady);
}

// Resumes one of each group that has something ready; anything that comes meanwhile waits for the
// next turn.
void Loop::TakeTurns() {
  for (size_t left = turns_.size(); left > 0; --left) {
    const Group group = turns_.front();
    turns_.pop_front();
    const As as(*this, group);
    turn_began_ = Microseconds(CLOCK_MONOTONIC);
    do {
      const Ready next = ready_[group].front();
      Resume(next);
      ready_[group].pop_front();
    } while (!ready_[group].empty() && !TurnIsOver());
    if (!ready_[group].empty()) turns_.push_back(group);
  }
}

int Loop::Timeout() const {
  if (!turns_.empty()) return 0;
  if (!soon_.empty()) return 1;
  const int64_t second = last_second_ + 1000;
  const int64_t until = std::min(std::max(next_deadline_, last_sweep_ + kSweepMs), second);
  return static_cast<int>(std::clamp<int64_t>(until - now_, 0, 1000));
}

void Loop::WakeLate() {
  if (now_ < next_deadline_ || now_ < last_sweep_ + kSweepMs) return;
  last_sweep_ = now_;
  next_deadline_ = INT64_MAX;
  // By index: a resumed coroutine may add sockets.
  for (size_t i = 0; i < slots_.size(); ++i) {
    for (const bool reads : {true, false}) {
      Socket* socket = slots_[i].socket;
      if (socket == nullptr) break;
      Socket::Side& side = reads ? socket->read_ : socket->write_;
      if (!side.waiter) continue;
      if (side.deadline <= now_) {
        const As as(*this, socket->group_);
        turn_began_ = Microseconds(CLOCK_MONOTONIC);
        Socket::Resume(side, Wake::kLate);
      } else {
        Expect(side.deadline);
      }
    }
  }
}

void Loop::WakeSoon() {
  const std::vector<uint64_t> now = std::exchange(soon_, {});
  for (const uint64_t tag : now) {
    Socket* socket = Find(tag);
    if (socket == nullptr) continue;
    const bool waits = socket->exact_ && socket->read_.waiter;
    if (waits && socket->read_.deadline > now_) {
      soon_.push_back(tag);
      continue;
    }
    socket->listed_ = false;
    if (waits) Queue(socket->group_, {.tag = tag, .reads = true, .late = true});
  }
}

void Loop::Run() {
  sys::Poller::Event events[256];
  while (!stopped_) {
    const int count = poller_.Wait(events, Timeout());
    now_ = Milliseconds(CLOCK_MONOTONIC);
    for (int i = 0; i < count; ++i) {
      const sys::Poller::Event& event = events[i];
      Socket* socket = Find(event.tag);
      if (socket == nullptr) continue;
      if (event.readable) socket->read_.ready = true;
      if (event.ended) socket->ended_ = true;
      if (event.writable) socket->write_.ready = true;
      if (event.gone) socket->gone_ = true;
      if (event.gone && socket->when_gone_) {
        const As as(*this, socket->group_);
        socket->when_gone_();
      }
      // Queued once until its turn: a busy group would gather more than it can ever take.
      if (event.readable && socket->read_.waiter && !std::exchange(socket->read_.queued, true))
        Queue(socket->group_, {.tag = event.tag, .reads = true});
      if (event.writable && socket->write_.waiter && !std::exchange(socket->write_.queued, true))
        Queue(socket->group_, {.tag = event.tag});
    }
    TakeTurns();
    if (!soon_.empty()) WakeSoon();
    WakeLate();
    if (every_second_ && now_ - last_second_ >= 1000) {
      last_second_ = now_;
      every_second_();
    }
  }
}

Socket::Socket(Loop& loop, sys::Fd fd) : loop_(loop), fd_(std::move(fd)), group_(loop.group()) {
  if (!fd_.valid()) return;
  tag_ = loop_.Register(this, fd_.get());
  registered_ = tag_ != 0;
}

Socket::~Socket() {
  if (registered_) loop_.Unregister(tag_, fd_.get());
}

void Socket::Resume(Side& side, Wake wake) {
  if (!side.waiter) return;
  side.wake = wake;
  std::exchange(side.waiter, {}).resume();
}

void Socket::Cut() {
  cut_ = true;
  for (Side* side : {&read_, &write_}) {
    if (side->waiter) loop_.Post(std::exchange(side->waiter, {}), group_);
  }
}

}  // namespace cloche::egress
