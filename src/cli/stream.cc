#include "cli/stream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/frames.h"
#include "base/text.h"
#include "cli/sink.h"
#include "cli/terminal.h"

namespace cloche::cli {
namespace {

constexpr size_t kHighWater = 1 << 20;  // stop taking more until this much is written
constexpr size_t kCaptureLimit = 64 << 20;
constexpr double kNextInterruptMs = 2000;  // later it is a first one again
constexpr double kTermPatienceMs = 2000;   // between TERM and KILL
constexpr double kAfterBrokenPipeMs = 1000;
constexpr int kTerminalRetryMs = 200;
constexpr char kInterruptKey = '\x03';

// The signals we answer for the command, blocked and read from a file descriptor.
sys::Fd WatchSignals(bool follow_only) {
  signal(SIGPIPE, SIG_IGN);
  if (follow_only) return {};
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return sys::Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

class Loop {
 public:
  Loop(Upgraded connection, const StreamOptions& options)
      : options_(options),
        socket_(std::move(connection.socket)),
        reading_stdin_(options.read_stdin),
        stdin_is_terminal_(isatty(STDIN_FILENO) == 1) {
    incoming_.Add(connection.unread);
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    signals_ = WatchSignals(options.follow_only);
    if (options.pty && stdin_is_terminal_) raw_.emplace(STDIN_FILENO);
  }

  Result<StreamOutcome> Run() {
    TakeFrames();
    while (error_.message.empty()) {
      out_.Flush();
      err_.Flush();
      NoticeBrokenPipe();
      if (outcome_.left_status) break;
      const bool written = out_.empty() && err_.empty();
      if (ended_ && written) break;
      Wait();
    }
    out_.Flush();
    err_.Flush();
    raw_.reset();
    if (!error_.message.empty()) return std::unexpected(error_);
    return std::move(outcome_);
  }

 private:
  void Wait() {
    enum { kSocket, kSignals, kStdin, kStdout, kStderr, kCount };
    std::array<pollfd, kCount> fds{};
    const bool room = out_.size() + err_.size() < kHighWater;
    fds[kSocket].fd = ended_ ? -1 : socket_.get();
    fds[kSocket].events =
        static_cast<short>((room ? POLLIN : 0) | (outgoing_.empty() ? 0 : POLLOUT));
    fds[kSignals] = {signals_.get(), POLLIN, 0};
    const bool want_stdin = reading_stdin_ && !ended_ && outgoing_.size() < kHighWater;
    const bool may_read = want_stdin && MayReadStdin();
    fds[kStdin] = {may_read ? STDIN_FILENO : -1, POLLIN, 0};
    fds[kStdout] = {out_.empty() ? -1 : out_.fd(), POLLOUT, 0};
    fds[kStderr] = {err_.empty() ? -1 : err_.fd(), POLLOUT, 0};

    int timeout = want_stdin && !may_read ? kTerminalRetryMs : -1;
    if (leave_at_ms_) {
      const double left = *leave_at_ms_ - SinceStartMs();
      if (left <= 0) {
        outcome_.left_status = 128 + SIGPIPE;
        return;
      }
      timeout = static_cast<int>(left) + 1;
    }
    if (kill_at_ms_) {
      const double left = *kill_at_ms_ - SinceStartMs();
      if (left <= 0) {
        kill_at_ms_.reset();
        Kill();
      } else {
        timeout = timeout < 0 ? static_cast<int>(left) + 1
                              : std::min(timeout, static_cast<int>(left) + 1);
      }
    }
    if (poll(fds.data(), fds.size(), timeout) <= 0) return;
    if (fds[kSignals].revents != 0) TakeSignals();
    if ((fds[kSocket].revents & POLLOUT) != 0) SendFrames();
    if ((fds[kSocket].revents & (POLLIN | POLLHUP | POLLERR)) != 0) Receive();
    // A terminal may have been claimed between poll and now.
    if (fds[kStdin].revents != 0 && MayReadStdin()) ReadStdin();
  }

  // Reading a terminal as a background job would stop us; reading it beside a pager would steal
  // keys.
  bool MayReadStdin() const {
    if (!stdin_is_terminal_ || raw_) return true;
    return InForeground(STDIN_FILENO) && !TakenByAnother(STDIN_FILENO);
  }

  void ReadStdin() {
    char buffer[64 * 1024];
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count > 0) {
      const std::string_view typed(buffer, static_cast<size_t>(count));
      Queue(FrameType::kStdin, typed);
      // In a terminal of its own it is a key, which the kernel inside turns into a signal.
      if (raw_)
        for (const char c : typed)
          if (c == kInterruptKey) Interrupted();
    } else {
      reading_stdin_ = false;
      Queue(FrameType::kStdinEnd, "");
    }
  }

  void Queue(FrameType type, std::string_view payload) {
    AppendFrame(outgoing_, type, payload);
    SendFrames();
  }

  void SendFrames() {
    while (!outgoing_.empty()) {
      const ssize_t sent = send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) {  // the result may still be waiting for us to read it
        outgoing_.clear();
        reading_stdin_ = false;
        return;
      }
      outgoing_.erase(0, static_cast<size_t>(sent));
    }
  }

  void TakeSignals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      const auto number = static_cast<int>(info.ssi_signo);
      if (number == SIGWINCH) {
        if (options_.pty) SendWindowSize();
        continue;
      }
      SendSignal(number);
      if (number == SIGINT) Interrupted();
      // With the terminal gone nobody waits for the rest.
      if (number == SIGHUP && options_.pty) outcome_.left_status = 128 + SIGHUP;
    }
  }

  void SendSignal(int number) {
    const char payload = static_cast<char>(number);
    Queue(FrameType::kSignal, {&payload, 1});
  }

  // The first Ctrl-C is the command's to handle. The next one soon after it ends a command that
  // ignores it: TERM, then KILL. One that has a terminal and answers (a prompt, an editor, a flood
  // of output) is left alone for longer.
  void Interrupted() {
    if (!options_.escalate || ended_) return;
    const double now = SinceStartMs();
    const bool soon = interrupted_ms_ && now - *interrupted_ms_ < kNextInterruptMs;
    interrupted_ms_ = now;
    interrupts_ = soon ? interrupts_ + 1 : 1;
    if (!soon) answered_ = false;
    const int patience = raw_ && answered_ ? 5 : 2;
    if (patience == 5 && interrupts_ == 4) Say("press Ctrl-C once more to end the command");
    if (interrupts_ < patience) return;
    if (ending_ == 0) {
      Say("Ctrl-C did not end the command: sending TERM, KILL in 2 s");
      SendSignal(SIGTERM);
      kill_at_ms_ = now + kTermPatienceMs;
    } else if (ending_ == 1) {
      Kill();
    } else {
      outcome_.left_status = 128 + SIGINT;  // not even the daemon does anything
    }
    ++ending_;
  }

  void Kill() {
    kill_at_ms_.reset();
    Say("killing the command");
    SendSignal(SIGKILL);
  }

  void Say(const std::string& text) {
    if (options_.quiet) return;
    ErrorSink().Add(Coloured(colour_, "2", "cloche: " + text) + (raw_ ? "\r\n" : "\n"));
  }

  // Notes whether a command reacted to a key, beyond the terminal's own echo of it.
  void NoteAnswer(std::string_view output) {
    while (!output.empty()) {
      if (!output.starts_with("^C")) {
        answered_ = true;
        return;
      }
      output.remove_prefix(2);
    }
  }

  void SendWindowSize() {
    const WindowSize size = ReadWindowSize(STDOUT_FILENO);
    const char payload[] = {static_cast<char>(size.rows >> 8), static_cast<char>(size.rows),
                            static_cast<char>(size.columns >> 8), static_cast<char>(size.columns)};
    Queue(FrameType::kResize, {payload, sizeof payload});
  }

  // The command would have been told by SIGPIPE, had it written there itself.
  void NoticeBrokenPipe() {
    if (!out_.broken() || leave_at_ms_ || ended_) return;
    leave_at_ms_ = SinceStartMs() + kAfterBrokenPipeMs;
    const char payload = SIGPIPE;
    if (options_.follow_only) {
      outcome_.left_status = 128 + SIGPIPE;
    } else {
      Queue(FrameType::kSignal, {&payload, 1});
    }
  }

  void Receive() {
    char buffer[64 * 1024];
    const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      error_ = {Code::kUnavailable,
                fmt::format("lost cloched while the command ran: {}",
                            count == 0 ? "it closed the connection" : strerror(errno)),
                "cloche status"};
      return;
    }
    incoming_.Add({buffer, static_cast<size_t>(count)});
    TakeFrames();
  }

  void TakeFrames() {
    FrameType type{};
    std::string_view payload;
    while (!ended_) {
      const FrameReader::Got got = incoming_.Next(type, payload);
      if (got == FrameReader::Got::kNonsense)
        error_ = {Code::kInternal, "read the stream of cloched: not a frame", ""};
      if (got != FrameReader::Got::kFrame) return;
      Take(type, payload);
    }
  }

  void Take(FrameType type, std::string_view payload) {
    if (outcome_.first_frame_ms == 0) outcome_.first_frame_ms = SinceStartMs();
    if (type == FrameType::kStdout) {
      if (raw_ && !answered_) NoteAnswer(payload);
      options_.capture ? Capture(outcome_.captured_stdout, payload) : out_.Add(payload);
    } else if (type == FrameType::kStderr) {
      options_.capture ? Capture(outcome_.captured_stderr, payload) : ErrorSink().Add(payload);
    } else if (type == FrameType::kNotice && !options_.quiet) {
      const Json notice = Json::parse(payload, nullptr, false);
      Say(EscapeForTerminal(Text(notice, "message")));
    } else if (type == FrameType::kResult) {
      outcome_.result = Json::parse(payload, nullptr, false);
      ended_ = true;
    }
  }

  // The daemon bounds a command's output; this only keeps a wrong daemon from filling our memory.
  static void Capture(std::string& into, std::string_view payload) {
    if (into.size() + payload.size() <= kCaptureLimit) into.append(payload);
  }

  Sink& ErrorSink() { return one_sink_ ? out_ : err_; }

  StreamOptions options_;
  sys::Fd socket_;
  sys::Fd signals_;
  std::optional<RawTerminal> raw_;
  FrameReader incoming_;
  std::string outgoing_;
  Sink out_{STDOUT_FILENO};
  Sink err_{STDERR_FILENO};
  bool one_sink_ = SameFile(STDOUT_FILENO, STDERR_FILENO);
  bool colour_ = ColourWanted(STDERR_FILENO);
  bool reading_stdin_;
  bool stdin_is_terminal_;
  bool ended_ = false;
  std::optional<double> interrupted_ms_;
  int interrupts_ = 0;     // in a row
  bool answered_ = false;  // the command wrote something since the first of them
  int ending_ = 0;         // TERM was sent, KILL was sent
  std::optional<double> kill_at_ms_;
  std::optional<double> leave_at_ms_;
  StreamOutcome outcome_;
  Error error_;
};

}  // namespace

Result<StreamOutcome> Relay(Upgraded connection, const StreamOptions& options) {
  return Loop(std::move(connection), options).Run();
}

}  // namespace cloche::cli
