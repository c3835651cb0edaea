#include "cli/with_service.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/daemon_start.h"
#include "cli/helper_process.h"
#include "cli/parse.h"
#include "cli/request.h"

namespace cloche::cli {
namespace {

constexpr const char* kHelper = "cloche-service";
constexpr useconds_t kLookAgain = 10'000;

// The error that a line of cloche-service reports, if any.
Status ErrorIn(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_object() && json.contains("error"))
    return std::unexpected(ErrorFromJson(json["error"]));
  return {};
}

// Blanks separate, quotes keep together: as much of a shell as a command line needs.
std::vector<std::string> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  bool open = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (quote == '\0' && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = '\0';
    else if (c == '\\' && quote != '\'' && i + 1 < text.size())
      words.back() += text[++i];
    else
      words.back() += c;
  }
  return words;
}

Result<Json> FindOne(const std::string& ref, const ServiceFlags& flags) {
  std::vector<std::string> arguments = {"find", ref};
  for (const std::string& path : flags.data) arguments.insert(arguments.end(), {"--data", path});
  for (const std::string& word : SplitWords(flags.command))
    arguments.insert(arguments.end(), {"--command", word});
  ASSIGN_OR_RETURN(HelperProcess helper, HelperProcess::Start(kHelper, std::move(arguments)));
  const std::string line = helper.ReadLine();
  CLOCHE_TRY(ErrorIn(line));
  Json found = Json::parse(line, nullptr, false);
  if (!found.is_object() || !found.contains("service"))
    return Fail(Code::kInternal, "find service: cloche-service gave no answer");
  return found;
}

class Progress {
 public:
  Progress(std::string what, uint64_t total, bool quiet)
      : what_(std::move(what)), total_(total), shown_(!quiet && isatty(STDERR_FILENO)) {}
  ~Progress() {
    if (shown_) WriteAll(STDERR_FILENO, "\r\033[K");
  }
  void Show(uint64_t bytes) const {
    if (!shown_) return;
    const double share = total_ == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(total_);
    WriteAll(STDERR_FILENO,
             fmt::format("\r\033[Kcopying {}: {} of {} ({:.0f}%)", what_, FormatBytes(bytes),
                         FormatBytes(total_), 100 * std::min(share, 1.0)));
  }

 private:
  std::string what_;
  uint64_t total_;
  bool shown_;
};

uint64_t LastBytes(const std::string& output) {
  const size_t at = output.rfind("bytes ");
  return at == std::string::npos ? 0 : strtoull(output.c_str() + at + 6, nullptr, 10);
}

// Returns when its copies are in place; `service` continues as soon as they are made.
Status Copy(const std::string& target, const Json& service, HelperProcess& pause, bool quiet) {
  Json argv = {FindSibling(kHelper), "copy"};
  for (const Json& path : Field(Field(service, "service"), "data")) argv.push_back(path);
  const Json body = {{"argv", argv}, {"background", true}, {"cwd", "/"}};
  ASSIGN_OR_RETURN(const Json started, Call("POST", target + "/commands", body));
  const std::string command = target + "/commands/" + EncodeSegment(Text(started, "id"));
  const Progress progress(Text(Field(service, "service"), "name"),
                          static_cast<uint64_t>(Number(service, "bytes")), quiet);
  bool paused = true;
  for (;;) {
    ASSIGN_OR_RETURN(const Json state, Call("GET", command));
    ASSIGN_OR_RETURN(const std::string output, CallForBytes(command + "/output?stream=stdout"));
    if (paused && output.find("copied\n") != std::string::npos) {
      if (!pause.Finish())
        return Fail(Code::kUnavailable,
                    fmt::format("copy the data of {}: it did not stand still for all of it",
                                EscapeForTerminal(Text(Field(service, "service"), "name"))),
                    "something killed cloche-service; try again");
      paused = false;
    }
    if (Text(state, "state") == "running") {
      progress.Show(LastBytes(output));
      usleep(kLookAgain);
      continue;
    }
    if (Text(state, "state") == "exited" && Number(state, "exit_status", 1) == 0) return {};
    const size_t last = output.find_last_of('{');
    if (last != std::string::npos) CLOCHE_TRY(ErrorIn(output.substr(output.rfind("{\"error\""))));
    return Fail(Code::kUnavailable,
                fmt::format("copy the data of {}: cloche-service ended early",
                            EscapeForTerminal(Text(Field(service, "service"), "name"))),
                "is there room? cloche doctor tells; --disk gives a sandbox more");
  }
}

bool Overlap(const std::string& one, const std::string& other) {
  const auto holds = [](const std::string& directory, const std::string& path) {
    return path == directory || directory == "/" ||
           (path.starts_with(directory) && path[directory.size()] == '/');
  };
  return holds(one, other) || holds(other, one);
}

// The paths of `data` that the sandbox hides, relative to it. nullopt: paths cannot tell.
std::optional<std::vector<std::string>> HiddenBelow(const Json& hidden, const std::string& data) {
  if (Overlap(data, "/etc")) return std::nullopt;  // password hashes
  std::vector<std::string> below;
  for (const Json& each : hidden) {
    if (!each.is_string()) return std::nullopt;
    const std::filesystem::path path = each.get<std::string>();
    if (const size_t glob = path.native().find("/**"); glob != std::string::npos) {
      if (Overlap(data, path.native().substr(0, glob))) return std::nullopt;
      continue;
    }
    std::error_code error;
    const auto real = std::filesystem::weakly_canonical(path.parent_path(), error);
    for (const std::string& name : {path.native(), (real / path.filename()).native()}) {
      if (!Overlap(data, name)) continue;
      if (name.size() <= data.size()) return std::nullopt;
      below.push_back(name.substr(data.size() + 1));
    }
  }
  return below;
}

// False: nobody reads it any more.
bool PassOn(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

struct Packed {
  std::string data;
  std::vector<std::string> leave_out;
};

// The directories of a service whose data may come out of snapshots; none: it is copied while the
// service stands still. Only root makes snapshots, and rootless blocks are shared instead.
std::vector<Packed> WhatToPack(const Json& sandbox, const Json& service) {
  std::vector<Packed> all;
  if (geteuid() != 0 || Text(sandbox, "mode") != "system") return all;
  for (const Json& path : Field(Field(service, "service"), "data")) {
    auto left_out = HiddenBelow(Field(sandbox, "hidden"), path.get<std::string>());
    if (!left_out) return {};
    all.push_back({path.get<std::string>(), std::move(*left_out)});
  }
  return all;
}

Result<HelperProcess> StartInside(const std::string& sandbox, std::vector<std::string> words) {
  words.insert(words.begin(), {"exec", sandbox, "--", FindSibling(kHelper)});
  return HelperProcess::Start("cloche", std::move(words));
}

Status FinishInside(HelperProcess& helper) {
  helper.EndInput();
  for (std::string line = helper.ReadLine(); !line.empty(); line = helper.ReadLine())
    CLOCHE_TRY(ErrorIn(line));
  if (helper.Finish()) return {};
  return Fail(Code::kUnavailable, "copy data: cloche-service in the sandbox ended early",
              "is there room? cloche doctor tells; --disk gives a sandbox more");
}

// One directory, out of a snapshot of this machine, through us, into the sandbox.
Status Move(const std::string& sandbox, const Packed& what, size_t number,
            const std::string& snapshot, uint64_t& moved, const Progress& progress) {
  std::vector<std::string> arguments = {"pack", snapshot};
  arguments.insert(arguments.end(), what.leave_out.begin(), what.leave_out.end());
  ASSIGN_OR_RETURN(HelperProcess pack, HelperProcess::Start(kHelper, std::move(arguments)));
  ASSIGN_OR_RETURN(HelperProcess unpack,
                   StartInside(sandbox, {"unpack", std::to_string(number), what.data}));
  pack.EndInput();
  signal(SIGPIPE, SIG_IGN);
  std::vector<char> buffer(1 << 20);
  ssize_t got;
  while ((got = read(pack.output(), buffer.data(), buffer.size())) > 0) {
    if (!PassOn(unpack.input(), std::string_view(buffer.data(), static_cast<size_t>(got)))) break;
    moved += static_cast<uint64_t>(got);
    progress.Show(moved);
  }
  CLOCHE_TRY(FinishInside(unpack));
  if (pack.Finish()) return {};
  return Fail(Code::kUnavailable,
              fmt::format("copy {}: tar ended early", EscapeForTerminal(what.data)),
              "something killed it; try again");
}

Status CopySnapshots(const std::string& sandbox, const Json& service, const Json& snapshots,
                     HelperProcess& holder, const std::vector<Packed>& data, bool quiet) {
  if (snapshots.size() != data.size())
    return Fail(Code::kInternal, "pause service: cloche-service gave no answer");
  const Progress progress(Text(Field(service, "service"), "name"),
                          static_cast<uint64_t>(Number(service, "bytes")), quiet);
  uint64_t moved = 0;
  for (size_t i = 0; i < data.size(); ++i)
    CLOCHE_TRY(Move(sandbox, data[i], i, snapshots[i].get<std::string>(), moved, progress));
  if (!holder.Finish())
    return Fail(Code::kUnavailable, "copy data: its snapshot did not last for all of it",
                "something killed cloche-service; try again");
  std::vector<std::string> words = {"place"};
  for (const Packed& each : data) words.push_back(each.data);
  ASSIGN_OR_RETURN(HelperProcess place, StartInside(sandbox, std::move(words)));
  return FinishInside(place);
}

// Tells users which variables they will miss inside, and why.
void TellLeftOut(const Json& service) {
  std::string names;
  for (const Json& name : Field(service, "left_out"))
    names += (names.empty() ? "" : ", ") + EscapeForTerminal(name.get<std::string>());
  if (!names.empty())
    WriteAll(STDERR_FILENO,
             fmt::format("cloche: left out of {}'s environment, for they look like secrets: {}\n",
                         EscapeForTerminal(Text(Field(service, "service"), "name")), names));
}

// Two of the same program are told apart by their ports.
Json WithOwnNames(const std::vector<Json>& services) {
  Json list = Json::array();
  std::set<std::string> taken;
  for (const Json& each : services) {
    Json spec = Field(each, "service");
    std::string name = Text(spec, "name", "service");
    if (taken.contains(name) && !Field(spec, "ports").empty())
      name += fmt::format("-{}", spec["ports"][0].get<int>());
    for (int number = 2; !taken.insert(name).second; ++number)
      name = fmt::format("{}-{}", Text(spec, "name"), number);
    spec["name"] = name;
    list.push_back(std::move(spec));
  }
  return list;
}

}  // namespace

Result<std::vector<Json>> FindServices(const ServiceFlags& flags) {
  if (flags.services.size() != 1 && !(flags.data.empty() && flags.command.empty()))
    return Fail(Code::kInvalid,
                "--service-data and --service-command go with exactly one --with-service",
                "leave them out, or make the sandbox with one service");
  std::vector<Json> found;
  for (const std::string& ref : flags.services) {
    ASSIGN_OR_RETURN(Json one, FindOne(ref, flags));
    found.push_back(std::move(one));
  }
  return found;
}

Result<Json> CopyServices(const std::string& sandbox, const std::vector<Json>& services,
                          bool quiet) {
  ASSIGN_OR_RETURN(const std::string target, SandboxTarget(sandbox));
  ASSIGN_OR_RETURN(const Json made, Call("GET", target));
  for (const Json& service : services) {
    if (!quiet) TellLeftOut(service);
    if (Field(Field(service, "service"), "data").empty()) continue;
    const std::vector<Packed> packed = WhatToPack(made, service);
    std::vector<std::string> arguments = {"pause", Field(service, "pid").dump(),
                                          Field(service, "started").dump()};
    if (!packed.empty()) arguments.emplace_back("--snapshot");
    for (const Json& path : Field(Field(service, "service"), "data"))
      arguments.push_back(path.get<std::string>());
    ASSIGN_OR_RETURN(HelperProcess pause, HelperProcess::Start(kHelper, std::move(arguments)));
    const std::string line = pause.ReadLine();
    CLOCHE_TRY(ErrorIn(line));
    const Json said = Json::parse(line, nullptr, false);
    if (!said.is_object() || !said.contains("paused"))
      return Fail(Code::kInternal, "pause service: cloche-service gave no answer");
    if (Field(said, "snapshots").empty())
      CLOCHE_TRY(Copy(target, service, pause, quiet));
    else
      CLOCHE_TRY(CopySnapshots(sandbox, service, Field(said, "snapshots"), pause, packed, quiet));
  }
  const Json body = {{"services", WithOwnNames(services)}};
  return Call("POST", target + "/services", body);
}

}  // namespace cloche::cli
