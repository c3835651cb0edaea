#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace cloche::daemon {

namespace asio = boost::asio;
using Json = nlohmann::ordered_json;
template <typename T>
using Task = asio::awaitable<T>;
inline constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// Records an exception that asio::detached would drop (last_words.h): it is a bug, and ends only
// the coroutine that threw it.
struct Detached {
  void operator()(std::exception_ptr exception) const;
  template <typename T>
  void operator()(std::exception_ptr exception, T&&) const {
    (*this)(std::move(exception));
  }
};
inline constexpr Detached kDetached;

// Several coroutines can wait for it. Set once, or pulsed whenever something changed.
class Event {
 public:
  explicit Event(asio::io_context& io) : timer_(io, std::chrono::steady_clock::time_point::max()) {}
  void Set() {
    set_ = true;
    timer_.cancel();
  }
  void Pulse() { timer_.cancel(); }
  bool is_set() const { return set_; }
  Task<void> Wait() {
    if (!set_) co_await timer_.async_wait(kAwait);
  }

 private:
  asio::steady_timer timer_;
  bool set_ = false;
};

// Lets one coroutine pass at a time; the others wait until it opens again.
class Gate {
 public:
  explicit Gate(asio::io_context& io) : io_(io) {}
  bool is_open() const { return closed_ == nullptr; }
  void Close() { closed_ = std::make_shared<Event>(io_); }
  void Open() { std::exchange(closed_, nullptr)->Set(); }
  Task<void> Wait() {
    while (const auto closed = closed_) co_await closed->Wait();
  }

 private:
  asio::io_context& io_;
  std::shared_ptr<Event> closed_;  // set when it opens
};

}  // namespace cloche::daemon
