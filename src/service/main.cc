// cloche-service: a service of this machine, again in a sandbox.
//   on the machine, with the rights of the user, started by cloche:
//     find REF [--data PATH]... [--command ARG]...   what it is, as JSON
//     pause PID STARTED [--snapshot] [DATA]...   says when it stands still, and resumes it when
//         standard input ends or we do; with --snapshot at once, if snapshots of DATA can be made,
//         which are deleted then
//     pack DIRECTORY [LEFT_OUT]...  writes an archive of it
//   in the sandbox:
//     copy PATH...         makes its files the sandbox's own
//     unpack NUMBER PATH   unpacks an archive beside it
//     place PATH...        puts what was unpacked in its place
//     run SPEC             starts it, says "ready" when it answers, waits for its end
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error_json.h"
#include "service/archive.h"
#include "service/btrfs_snapshot.h"
#include "service/copy.h"
#include "service/host_service.h"
#include "service/pause.h"
#include "service/run.h"

namespace cloche::service {
namespace {

using Words = std::vector<std::string>;

void Print(const std::string& line) { (void)!write(STDOUT_FILENO, line.data(), line.size()); }

int Finish(const Status& status) {
  if (status) return 0;
  Print(nlohmann::ordered_json{{"error", ErrorJson(status.error())}}.dump(
            -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        "\n");
  return 1;
}

int Find(const Words& words) {
  FindOptions options;
  for (size_t i = 1; i + 1 < words.size(); i += 2) {
    if (words[i] == "--data") options.data.push_back(words[i + 1]);
    if (words[i] == "--command") options.command.push_back(words[i + 1]);
  }
  const auto found = FindService(words[0], options);
  if (!found) return Finish(std::unexpected(found.error()));
  Print(ToJson(*found).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        "\n");
  return 0;
}

// Signals would end us in the middle: the process at the other end of standard input decides.
int Hold(const Words& words) {
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(ignored, SIG_IGN);
  std::optional<HostSnapshots> snapshots(std::in_place);
  const bool wanted = words.size() > 2 && words[2] == "--snapshot";
  const Words data(words.begin() + 2 + wanted, words.end());
  // Remains of a failed attempt lie in the data, and would be copied.
  if (!wanted || !snapshots->Prepare(data)) snapshots.reset();
  auto pause = std::make_unique<Pause>();
  const Status stopped =
      pause->Stop(atoi(words[0].c_str()), strtoull(words[1].c_str(), nullptr, 10), data);
  if (!stopped) return Finish(stopped);
  nlohmann::ordered_json said = {{"paused", pause->threads()}, {"snapshots", Words()}};
  if (snapshots && snapshots->Take()) {
    pause.reset();
    said["snapshots"] = snapshots->Places();
  } else {
    snapshots.reset();
  }
  Print(said.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

int Run(const std::string& spec) {
  const auto json = nlohmann::json::parse(spec, nullptr, false);
  if (!json.is_object()) return 2;
  Program program;
  program.path = json.value("program", "");
  program.argv = json.value("argv", Words());
  program.uid = json.value("uid", 0u);
  program.gid = json.value("gid", 0u);
  program.groups = json.value("groups", std::vector<uint32_t>());
  for (const uint16_t port : json.value("ports", std::vector<uint16_t>()))
    program.addresses.push_back({port, ""});
  for (const std::string& socket : json.value("sockets", Words()))
    program.addresses.push_back({0, socket});
  for (const auto& each : json.value("directories", nlohmann::json::array()))
    program.directories.push_back({each.value("path", ""), each.value("mode", 0755u),
                                   each.value("uid", 0u), each.value("gid", 0u)});
  return RunProgram(program);
}

}  // namespace

int Main(int argc, char** argv) {
  const Words words(argv + std::min(argc, 2), argv + argc);
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "find" && !words.empty()) return Find(words);
  if (what == "pause" && words.size() >= 2) return Hold(words);
  if (what == "pack" && !words.empty())
    return Finish(Pack(words[0], Words(words.begin() + 1, words.end())));
  if (what == "copy" && !words.empty()) return Finish(CopyData(words));
  if (what == "unpack" && words.size() == 2)
    return Finish(Unpack(words[1], strtoul(words[0].c_str(), nullptr, 10)));
  if (what == "place" && !words.empty()) return Finish(Place(words));
  if (what == "run" && words.size() == 1) return Run(words[0]);
  static constexpr char kUsage[] =
      "cloche-service is started by cloche; use cloche new --with-service PORT|PID|UNIT\n";
  (void)!write(STDERR_FILENO, kUsage, sizeof kUsage - 1);
  return 2;
}

}  // namespace cloche::service

int main(int argc, char** argv) { return cloche::service::Main(argc, argv); }
