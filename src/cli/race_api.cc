#include "cli/race_api.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error_json.h"
#include "cli/client.h"
#include "cli/session.h"

namespace cloche::cli {
namespace {

constexpr size_t kTailBytes = 8 * 1024;
constexpr size_t kPrintedBytes = 64 * 1024;

// Keeps the end of the output; cuts rarely, so that a flood costs little.
void AppendToTail(std::string& tail, std::string_view bytes, size_t most) {
  tail.append(bytes);
  if (tail.size() > 2 * most) tail.erase(0, tail.size() - most);
}

std::string LastBytes(const std::string& text, size_t most) {
  return text.size() <= most ? text : text.substr(text.size() - most);
}

}  // namespace

Limits OfSandbox(Limits limits) {
  limits.wall.reset();
  limits.output.reset();
  return limits;
}

Result<std::string> ForkForLane(const std::string& base, const std::string& name,
                                const Limits& limits) {
  Json body = {{"count", 1}, {"names", Json::array({name})}};
  if (const Json own = LimitsToJson(limits); !own.empty()) body["limits"] = own;
  ASSIGN_OR_RETURN(const std::string target, SandboxTarget(base, "/fork"));
  ASSIGN_OR_RETURN(const Json made, Call("POST", target, body));
  const std::string id = made.is_array() && made.size() == 1 ? Text(made[0], "id") : "";
  if (id.empty()) return Fail(Code::kInternal, "fork: cloched named no sandbox");
  return id;
}

Result<race::Changes> FetchChanges(const std::string& lane, const std::string& base) {
  ASSIGN_OR_RETURN(
      const std::string target,
      SandboxTarget(lane, "/changes" + QueryString({{"lines", "1"}, {"against", base}})));
  ASSIGN_OR_RETURN(const std::string bytes, CallForBytes(target));
  race::Changes changes;
  bool complete = false;  // the summary is the last line
  for (std::string_view left = bytes; !left.empty();) {
    const size_t end = left.find('\n');
    const Json entry = Json::parse(left.substr(0, end), nullptr, false);
    left = end == std::string_view::npos ? "" : left.substr(end + 1);
    complete = Field(entry, "summary").is_object();
    if (complete || !Text(entry, "noise").empty()) continue;
    const Json& side = Field(entry, Field(entry, "new").is_object() ? "new" : "old");
    if (Text(side, "type") == "directory") continue;  // what is in it is told by itself
    const Json& lines = Field(entry, "lines");
    changes[Text(entry, "path")] = {Text(entry, "kind"),
                                    static_cast<uint64_t>(Number(lines, "added")),
                                    static_cast<uint64_t>(Number(lines, "removed"))};
  }
  if (!complete) return Fail(Code::kInternal, "cloched did not tell all");
  return changes;
}

uint64_t CountViolations(const std::string& sandbox) {
  const auto target = SandboxTarget(sandbox);
  const auto shown = target ? Call("GET", *target) : std::unexpected(target.error());
  if (!shown) return 0;
  uint64_t count = 0;
  for (const Json& denial : Field(*shown, "denials"))
    if (Text(denial, "class") == "violation")
      count += static_cast<uint64_t>(Number(denial, "count", 1));
  return count;
}

void StopSandbox(const std::string& id) {
  if (const auto target = SandboxTarget(id, "/stop")) (void)Call("POST", *target);
}

RaceSandboxes::~RaceSandboxes() {
  RemoveAll();
  guard_ = sys::Fd();
  if (guard_pid_ > 0) waitpid(guard_pid_, nullptr, 0);
}

void RaceSandboxes::Add(const std::string& id) {
  if (guard_pid_ == 0) StartGuard();
  ids_.push_back(id);
  TellGuard('+', id);
}

void RaceSandboxes::Keep(const std::string& id) {
  TellGuard('-', id);
  std::erase(ids_, id);
}

void RaceSandboxes::RemoveAll() {
  for (const std::string& id : ids_) {
    if (const auto target = SandboxTarget(id))
      (void)Call("DELETE", *target, nullptr, StartDaemon::kNever);
    TellGuard('-', id);
  }
  ids_.clear();
}

// A race also runs without a guard.
void RaceSandboxes::StartGuard() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return;
  sys::Fd input(ends[0]);
  guard_ = sys::Fd(ends[1]);
  guard_pid_ = fork();
  if (guard_pid_ == 0) Guard(input.get());
}

void RaceSandboxes::TellGuard(char what, const std::string& id) const {
  const std::string line = what + id + "\n";
  if (guard_pid_ > 0) (void)!write(guard_.get(), line.data(), line.size());
}

// Removes, when the pipe ends, the sandboxes that nobody else has removed or kept.
void RaceSandboxes::Guard(int input) {
  setsid();
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(ignored, SIG_IGN);
  guard_ = sys::Fd();
  guard_pid_ = 0;
  const int null = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  std::string told;
  char buffer[4096];
  for (ssize_t got; (got = read(input, buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) told.append(buffer, static_cast<size_t>(got));
    for (size_t end; (end = told.find('\n')) != std::string::npos; told.erase(0, end + 1)) {
      const std::string id = told.substr(1, end - 1);
      if (told[0] == '+')
        ids_.push_back(id);
      else
        std::erase(ids_, id);
    }
  }
  RemoveAll();
  _exit(0);
}

Result<LaneCommand> LaneCommand::Start(const std::string& sandbox, const Body& body) {
  ASSIGN_OR_RETURN(const std::string target, SandboxTarget(sandbox, "/commands"));
  ASSIGN_OR_RETURN(Upgraded connection, CallForStream(target, body));
  LaneCommand command;
  command.socket_ = std::move(connection.socket);
  fcntl(command.socket_.get(), F_SETFL, O_NONBLOCK);
  command.frames_.Add(connection.unread);
  command.TakeFrames();
  return command;
}

void LaneCommand::Receive() {
  char buffer[64 * 1024];
  const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    lost_ = ended_ = true;
    return;
  }
  frames_.Add({buffer, static_cast<size_t>(count)});
  TakeFrames();
}

void LaneCommand::TakeFrames() {
  FrameType type{};
  std::string_view payload;
  while (!ended_) {
    const FrameReader::Got got = frames_.Next(type, payload);
    if (got == FrameReader::Got::kNonsense) lost_ = ended_ = true;
    if (got != FrameReader::Got::kFrame) return;
    if (type == FrameType::kStdout) AppendToTail(stdout_, payload, kPrintedBytes);
    if (type == FrameType::kStdout || type == FrameType::kStderr)
      AppendToTail(tail_, payload, kTailBytes);
    if (type == FrameType::kResult) {
      result_ = payload;
      ended_ = true;
    }
  }
}

race::Step LaneCommand::Outcome(race::StepKind kind, const std::string& text) const {
  const Json result = Json::parse(result_, nullptr, false);
  race::Step step;
  step.kind = kind;
  step.command = text;
  step.state = Text(result, "state", "failed");
  step.exit_status = static_cast<int>(Number(result, "exit_status", kOwnFailure));
  step.limit = Text(Field(result, "limit"), "message");
  if (const Json& error = Field(result, "error"); error.is_object())
    step.error = ErrorFromJson(error).message;
  if (lost_) step.error = "lost cloched while the command ran";
  step.duration_s = Number(result, "duration_s");
  step.cpu_s = Number(result, "cpu_s");
  step.peak_memory_bytes = static_cast<uint64_t>(Number(result, "peak_memory_bytes"));
  step.denials = static_cast<uint64_t>(Number(result, "denials"));
  step.tail = LastBytes(tail_, kTailBytes);
  return step;
}

}  // namespace cloche::cli
