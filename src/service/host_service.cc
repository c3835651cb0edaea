#include "service/host_service.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.h"
#include "policy/environment.h"
#include "service/data.h"
#include "service/known.h"
#include "service/process_table.h"
#include "service/sockets.h"
#include "sys/directory.h"

namespace cloche::service {
namespace {

std::optional<int> NumberOf(std::string_view text) {
  if (text.empty() || text.size() > 7) return std::nullopt;
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

// Of several processes that hold one socket, the first: the others are its workers.
int TopOf(const ProcessTable& table, const std::set<int>& holders) {
  int top = *holders.begin();
  while (const HostProcess* process = table.Find(top)) {
    if (!holders.contains(process->parent)) break;
    top = process->parent;
  }
  return top;
}

// nullopt: nobody listens there.
Result<std::optional<int>> ListenerAt(const ProcessTable& table,
                                      const std::vector<Listener>& listeners, int port) {
  std::set<uint64_t> inodes;
  uint32_t owner = 0;
  for (const Listener& each : listeners) {
    if (each.address.port != port || port == 0) continue;
    inodes.insert(each.inode);
    owner = each.uid;
  }
  if (inodes.empty()) return std::nullopt;
  std::set<int> holders;
  for (const auto& [pid, process] : table.all())
    for (const uint64_t inode : SocketsOf(pid))
      if (inodes.contains(inode)) holders.insert(pid);
  if (!holders.empty()) return TopOf(table, holders);
  return Fail(Code::kDenied,
              fmt::format("find service at port {}: it is user {}'s, and you may not look at it",
                          port, owner),
              "run this as root: sudo cloche new --with-service ...");
}

// Every process knows its unit by its cgroup. Names have dots, too: php8.2-fpm.
Result<int> FirstOfUnit(const ProcessTable& table, std::string unit) {
  if (!unit.ends_with(".service") && !unit.ends_with(".scope")) unit += ".service";
  std::set<int> members;
  for (const auto& [pid, process] : table.all()) {
    std::istringstream lines(ReadOf(pid, "cgroup"));
    for (std::string line; std::getline(lines, line);)
      if ((line + "/").find("/" + unit + "/") != std::string::npos) members.insert(pid);
  }
  if (!members.empty()) return TopOf(table, members);
  return Fail(
      Code::kNotFound,
      fmt::format("find service {}: no process runs in such a unit", EscapeForTerminal(unit)),
      "is it running? systemctl status tells; or give its port or pid");
}

Result<int> FirstProcess(const std::string& ref, const ProcessTable& table,
                         const std::vector<Listener>& listeners) {
  const size_t colon = ref.find(':');
  const std::string kind = colon == std::string::npos ? "" : ref.substr(0, colon);
  const std::string rest = colon == std::string::npos ? ref : ref.substr(colon + 1);
  const std::optional<int> number = NumberOf(rest);
  if (kind == "unit" || (kind.empty() && !number)) return FirstOfUnit(table, rest);
  if (!number || (kind != "" && kind != "port" && kind != "pid"))
    return Fail(Code::kInvalid, fmt::format("find service '{}'", EscapeForTerminal(ref)),
                "give a port, a pid or a unit: port:5432, pid:1234, unit:redis");
  if (kind != "pid") {
    ASSIGN_OR_RETURN(const std::optional<int> found, ListenerAt(table, listeners, *number));
    if (found) return *found;
  }
  if (kind != "port" && table.Find(*number)) return *number;
  return Fail(
      Code::kNotFound,
      fmt::format("find service {}: {}", rest,
                  kind == "port"  ? "nobody listens at that port"
                  : kind == "pid" ? "there is no such process"
                                  : "nobody listens at that port, and there is no such process"),
      "ss -ltnp shows who listens");
}

void ReadEnvironment(HostService& service) {
  for (std::string& variable : SplitAtNul(ReadOf(service.pid, "environ"))) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = variable.substr(0, equals);
    if (NameLooksSecret(name) || ValueLooksSecret(std::string_view(variable).substr(equals + 1)))
      service.left_out.push_back(name);
    else if (name != "PWD" && name != "NOTIFY_SOCKET" && !name.starts_with("LISTEN_"))
      service.env.push_back(std::move(variable));
  }
  // A title may have been written over the environment.
  if (service.env.empty()) service.env.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
}

void AddDirectory(const std::string& path, std::vector<OwnDirectory>& directories) {
  struct stat info;
  if (lstat(path.c_str(), &info) < 0 || !S_ISDIR(info.st_mode)) return;
  for (const OwnDirectory& other : directories)
    if (other.path == path) return;
  directories.push_back({path, info.st_mode & 07777, info.st_uid, info.st_gid});
}

// A sandbox has an empty /run.
void FindRunDirectories(const HostService& service, std::vector<OwnDirectory>& directories) {
  if (service.program.uid != 0) {
    sys::Directory run(AT_FDCWD, "/run");
    while (const dirent* entry = run.Next()) {
      const std::string path = std::string("/run/") + entry->d_name;
      struct stat info;
      if (lstat(path.c_str(), &info) == 0 && info.st_uid == service.program.uid)
        AddDirectory(path, directories);
    }
  }
  for (const Address& address : service.program.addresses) {
    std::string path = address.socket;
    if (path.starts_with("/var/run/")) path.erase(0, strlen("/var"));
    if (path.starts_with("/run/") && path.find_last_of('/') > strlen("/run"))
      AddDirectory(path.substr(0, path.find_last_of('/')), directories);
  }
}

}  // namespace

Result<HostService> FindService(const std::string& ref, const FindOptions& options) {
  const ProcessTable table = ProcessTable::Read();
  const std::vector<Listener> listeners = ListenersHere();
  ASSIGN_OR_RETURN(const int pid, FirstProcess(ref, table, listeners));
  const HostProcess* first = table.Find(pid);
  if (!first) return Fail(Code::kNotFound, fmt::format("find service {}: it has just ended", pid));
  HostService service;
  service.pid = pid;
  service.started = first->started;
  Program& program = service.program;
  program.uid = first->uid;
  program.gid = first->gid;
  program.groups = first->groups;
  program.path = LinkOf(pid, "exe");
  service.cwd = LinkOf(pid, "cwd");
  if (program.path.empty() || service.cwd.empty())
    return Fail(Code::kDenied,
                fmt::format("find service {}: it is user {}'s, and you may not look at it", pid,
                            first->uid),
                "run this as root: sudo cloche new --with-service ...");
  if (geteuid() != 0 && geteuid() != first->uid)
    return Fail(Code::kDenied, fmt::format("copy service {}: it is user {}'s", pid, first->uid),
                "run this as root: sudo cloche new --with-service ...");
  const std::vector<int> tree = table.Tree(pid);
  std::set<uint64_t> inodes;
  for (const int member : tree) inodes.merge(SocketsOf(member));
  for (const Listener& each : listeners) {
    const auto same = [&](const Address& other) {
      return other.port == each.address.port && other.socket == each.address.socket;
    };
    if (inodes.contains(each.inode) && std::ranges::none_of(program.addresses, same))
      program.addresses.push_back(each.address);
  }
  ReadEnvironment(service);
  program.argv = options.command.empty() ? SplitAtNul(ReadOf(pid, "cmdline")) : options.command;
  CLOCHE_TRY(MakeRunnable(program, service.cwd, !options.command.empty()));
  service.name = program.argv[0].substr(program.argv[0].find_last_of('/') + 1);
  if (options.data.empty()) {
    service.data = FindData(*first, tree);
  } else {
    ASSIGN_OR_RETURN(service.data, CheckData(options.data));
  }
  std::vector<std::string> seen = service.data;
  if (options.command.empty()) seen.push_back(program.path);
  for (const std::string& path : seen)
    if (!IsSameFor(pid, path))
      return Fail(Code::kConflict,
                  fmt::format("copy service {}: its {} is not this machine's, or is gone", pid,
                              EscapeForTerminal(path)),
                  "a service in a container is not copied; if its program was replaced since it "
                  "started, restart it, and then this");
  service.bytes = BytesBelow(service.data);
  FindRunDirectories(service, program.directories);
  return service;
}

nlohmann::ordered_json ToJson(const HostService& service) {
  nlohmann::ordered_json directories = nlohmann::ordered_json::array();
  for (const OwnDirectory& each : service.program.directories)
    directories.push_back(
        {{"path", each.path}, {"mode", each.mode}, {"uid", each.uid}, {"gid", each.gid}});
  std::set<uint16_t> ports;
  std::vector<std::string> sockets;
  for (const Address& each : service.program.addresses) {
    if (each.port != 0)
      ports.insert(each.port);
    else
      sockets.push_back(each.socket);
  }
  return {{"pid", service.pid},
          {"started", service.started},
          {"bytes", service.bytes},
          {"left_out", service.left_out},
          {"service",
           {{"name", service.name},
            {"program", service.program.path},
            {"argv", service.program.argv},
            {"env", service.env},
            {"cwd", service.cwd},
            {"uid", service.program.uid},
            {"gid", service.program.gid},
            {"groups", service.program.groups},
            {"ports", ports},
            {"sockets", sockets},
            {"directories", directories},
            {"data", service.data}}}};
}

}  // namespace cloche::service
