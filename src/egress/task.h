#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace cloche::egress {

namespace internal {

template <typename Promise>
struct AtEnd {
  bool await_ready() const noexcept { return false; }
  // Resumes the waiter, which may destroy this frame, so nothing is touched afterwards.
  void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
    if (const std::coroutine_handle<> waiter = ended.promise().waiter) waiter.resume();
  }
  void await_resume() const noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> waiter;
  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() { std::terminate(); }
};

}  // namespace internal

// Work that may have to wait, written as a function. It begins when it is awaited, and is awaited
// once. A task that never waits costs no stack, however often it is called in a loop.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : internal::PromiseBase {
    std::optional<T> value;
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    internal::AtEnd<promise_type> final_suspend() noexcept { return {}; }
    void return_value(T result) { value.emplace(std::move(result)); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().waiter = waiter;
    return true;
  }
  T await_resume() { return std::move(*handle_.promise().value); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

template <>
class [[nodiscard]] Task<void> {
 public:
  struct promise_type : internal::PromiseBase {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    internal::AtEnd<promise_type> final_suspend() noexcept { return {}; }
    void return_void() {}
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().waiter = waiter;
    return true;
  }
  void await_resume() {}

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

namespace internal {

struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

inline Detached RunToTheEnd(Task<void> task) { co_await task; }

}  // namespace internal

// Runs on its own, and must own everything it needs.
inline void Start(Task<void> task) { internal::RunToTheEnd(std::move(task)); }

}  // namespace cloche::egress
