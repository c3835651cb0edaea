#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>

namespace cloche::daemon {

namespace asio = boost::asio;
using Json = nlohmann::ordered_json;
template <typename T>
using Task = asio::awaitable<T>;
inline constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// Where asio::detached would forget it, an exception is written down (last_words.h): it is a bug,
// which ended what threw it and nothing else.
struct Detached {
  void operator()(std::exception_ptr exception) const;
  template <typename T>
  void operator()(std::exception_ptr exception, T&&) const {
    (*this)(exception);
  }
};
inline constexpr Detached kDetached;

// Something several coroutines wait for. Set once, or pulsed whenever something moved.
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

}  // namespace cloche::daemon
