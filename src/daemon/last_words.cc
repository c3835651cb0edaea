#include "daemon/last_words.h"

#include <cxxabi.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <typeinfo>

#include "sys/fd.h"
#include "sys/file.h"

extern "C" const char __executable_start;

namespace cloche::daemon {
namespace {

constexpr const char* kRecords = "/ends.jsonl";
constexpr const char* kAlive = "/alive";
constexpr size_t kMostRecords = 50;
constexpr int kMostExceptions = 20;  // by one daemon
constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

// For the signal handler, which may neither allocate nor lock.
int records = -1;
int alive_directory = -1;
std::atomic<bool> recorded = false;
alignas(16) char handler_stack[64 << 10];

// Builds a line without allocating.
class Line {
 public:
  Line& Text(const char* text) {
    while (*text != '\0') Put(*text++);
    return *this;
  }
  Line& Number(uint64_t number, unsigned base = 10) {
    char digits[24];
    int count = 0;
    do {
      digits[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    while (count > 0) Put(digits[--count]);
    return *this;
  }
  void Write(int fd) { (void)!write(fd, text_, size_); }

 private:
  void Put(char c) {
    if (size_ < sizeof text_) text_[size_++] = c;
  }
  char text_[2048];
  size_t size_ = 0;
};

uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec);
}

struct Frames {
  Line* line;
  int count;
};

_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* argument) {
  auto* frames = static_cast<Frames*>(argument);
  // The offset in the file, independent of the load address, as addr2line takes it.
  const uint64_t at = _Unwind_GetIP(context) - reinterpret_cast<uint64_t>(&__executable_start);
  frames->line->Text(frames->count == 0 ? "\"0x" : ",\"0x").Number(at, 16).Text("\"");
  return ++frames->count < 40 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void AddFrames(Line& line) {
  Frames frames{&line, 0};
  line.Text(",\"frames\":[");
  _Unwind_Backtrace(AddFrame, &frames);
  line.Text("]");
}

Line Begin(const char* kind) {
  Line line;
  line.Text("{\"at\":").Number(Now()).Text(",\"pid\":").Number(static_cast<uint64_t>(getpid()));
  line.Text(",\"version\":\"" CLOCHE_VERSION "\",\"kind\":\"").Text(kind).Text("\"");
  return line;
}

void OnFatalSignal(int signal, siginfo_t* info, void*) {
  if (!recorded.exchange(true)) {
    // Write what is certain first. Unwinding may crash or hang in whatever was interrupted: then
    // another signal or the alarm ends the process, and the record is already there.
    Line line = Begin("bug");
    line.Text(",\"why\":\"signal ").Number(static_cast<uint64_t>(signal));
    if (const char* name = sigabbrev_np(signal)) line.Text(" (SIG").Text(name).Text(")");
    if (signal == SIGSEGV || signal == SIGBUS)
      line.Text(" at address 0x").Number(reinterpret_cast<uint64_t>(info->si_addr), 16);
    if (info->si_code <= 0)  // somebody sent it
      line.Text(", sent by process ").Number(static_cast<uint64_t>(info->si_pid));
    line.Text("\"}\n");
    line.Write(records);
    unlinkat(alive_directory, kAlive + 1, 0);
    alarm(5);
    Line frames = Begin("frames");
    AddFrames(frames);
    frames.Text("}\n");
    frames.Write(records);
  }
  raise(signal);  // default action: SA_RESETHAND
}

std::string Name(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string text = name ? name : type.name();
  free(name);
  return text;
}

std::string Describe(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return fmt::format("{}: {}", Name(typeid(error)), error.what());
  } catch (...) {
    return "an exception of an unknown type";
  }
}

void Append(const char* kind, const std::string& why) {
  if (records < 0) return;
  const Json record = {
      {"at", Now()}, {"pid", getpid()}, {"version", CLOCHE_VERSION}, {"kind", kind}, {"why", why}};
  const std::string line = record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  (void)!write(records, line.data(), line.size());
}

[[noreturn]] void OnTerminate() {
  try {
    if (!recorded.exchange(true)) {
      const auto exception = std::current_exception();
      Append("bug", "terminate: " + (exception ? Describe(exception) : "without an exception"));
      unlinkat(alive_directory, kAlive + 1, 0);
    }
  } catch (...) {
    // Out of memory: SIGABRT says less, but still something.
    recorded = false;
  }
  abort();
}

std::string Read(const std::string& path) {
  std::string text;
  sys::ReadFileAt(AT_FDCWD, path.c_str(), text);
  return text;
}

std::string BootId() { return Read("/proc/sys/kernel/random/boot_id"); }

// Processes killed for lack of memory since the machine booted.
uint64_t OutOfMemoryKills() {
  const std::string text = Read("/proc/vmstat");
  const size_t at = text.find("\noom_kill ");
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + 10, nullptr, 10);
}

// Records the previous daemon's end if it did not say goodbye.
void NoticeTheLast(const std::string& directory) {
  const std::string text = Read(directory + kAlive);
  if (text.empty()) return;
  const Json alive = Json::parse(text, nullptr, false);
  if (!alive.is_object()) return;
  const std::string boot = alive.value("boot", "");
  if (boot != BootId()) return;  // the machine went down: not our fault
  std::string why = "ended without a clean shutdown: killed from outside (SIGKILL), or a bug";
  if (const uint64_t kills = OutOfMemoryKills(), then = alive.value("oom_kills", uint64_t{0});
      kills > then)
    why = fmt::format(
        "ended without a clean shutdown: the kernel has killed {} processes for lack of memory "
        "meanwhile, and it may have been one of them (dmesg)",
        kills - then);
  const Json record = {{"at", Now()},
                       {"pid", alive.value("pid", 0)},
                       {"version", alive.value("version", "")},
                       {"kind", "gone"},
                       {"why", why}};
  const std::string line = record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  (void)!write(records, line.data(), line.size());
}

// Keeps only the newest.
void Shorten(const std::string& path) {
  std::string text = Read(path);
  if (static_cast<size_t>(std::ranges::count(text, '\n')) <= 2 * kMostRecords) return;
  size_t at = text.size();
  for (size_t kept = 0; kept <= kMostRecords && at > 0; ++kept)
    at = std::min(text.rfind('\n', at - 1), at - 1);
  text.erase(0, at + 1);
  if (truncate(path.c_str(), 0) == 0) (void)!write(records, text.data(), text.size());
}

[[maybe_unused]] void CatchFatalSignals() {
  const stack_t stack{.ss_sp = handler_stack, .ss_flags = 0, .ss_size = sizeof handler_stack};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = OnFatalSignal;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  for (const int signal : kFatal) sigaction(signal, &action, nullptr);
  std::set_terminate(OnTerminate);
}

}  // namespace

void BeginRecords(const std::string& directory) {
  const std::string path = directory + kRecords;
  records = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  alive_directory = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (records >= 0) {
    Shorten(path);
    try {
      NoticeTheLast(directory);
    } catch (const Json::exception&) {
      // Not ours, or damaged: ignore it.
    }
  }
  const sys::Fd alive(openat(alive_directory, kAlive + 1,
                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const std::string text = Json{
      {"pid", getpid()},
      {"version", CLOCHE_VERSION},
      {"started", Now()},
      {"boot", BootId()},
      {"oom_kills",
       OutOfMemoryKills()}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (alive.valid()) (void)!write(alive.get(), text.data(), text.size());
#ifndef __SANITIZE_ADDRESS__  // which has its own handlers and says more
  CatchFatalSignals();
#endif
}

void SayGoodbye() {
  if (alive_directory >= 0) unlinkat(alive_directory, kAlive + 1, 0);
}

void RecordEnd(const std::string& why) {
  fmt::print(stderr, "cloched: {}\n", why);
  if (recorded.exchange(true)) return;
  Append("bug", why);
  SayGoodbye();
}

void RecordException(std::exception_ptr exception, const char* where) {
  static int count = 0;
  const std::string why = fmt::format("{}: {}", where, Describe(exception));
  fmt::print(stderr, "cloched: {}\n", why);
  if (++count <= kMostExceptions) Append("exception", why);
}

void Detached::operator()(std::exception_ptr exception) const {
  if (exception) RecordException(exception, "run on");
}

Json ReadEnds(const std::string& directory) {
  Json list = Json::array();
  const std::string text = Read(directory + kRecords);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    Json record = Json::parse(text.begin() + static_cast<long>(at),
                              text.begin() + static_cast<long>(end), nullptr, false);
    at = end + 1;
    if (!record.is_object() || !record.contains("kind")) continue;
    if (record["kind"] == "frames" && !list.empty())
      list.back()["frames"] = record["frames"];
    else
      list.push_back(std::move(record));
  }
  return list;
}

}  // namespace cloche::daemon
