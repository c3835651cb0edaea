#include "service/known.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"

namespace cloche::service {
namespace {

// The value of "name:VALUE" in INFO.
std::string InfoValue(const std::string& info, const std::string& name) {
  const size_t at = info.find("\n" + name + ":");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
}

// *2, $4, port, $4, 7000: the line after the fourth.
bool ConfigValue(const std::string& reply, std::string& value) {
  size_t at = 0;
  if (!reply.starts_with("*2\r\n")) return false;
  for (int line = 0; line < 4; ++line) {
    at = reply.find("\r\n", at);
    if (at == std::string::npos) return false;
    at += 2;
  }
  value = reply.substr(at, reply.find("\r\n", at) - at);
  return true;
}

Status AskRedisForCommand(Program& program) {
  for (const Address& address : program.addresses) {
    const std::string info = AskRedis(address, "INFO server");
    if (!info.starts_with("$")) continue;
    const std::string title = program.argv.empty() ? "redis-server" : program.argv[0];
    program.argv = {title.substr(0, title.find(' '))};
    if (const std::string config = InfoValue(info, "config_file"); !config.empty())
      program.argv.push_back(config);
    for (const char* name : {"port", "dir", "dbfilename", "appendonly", "appendfilename",
                             "appenddirname", "save", "databases", "unixsocket"}) {
      std::string value;
      if (!ConfigValue(AskRedis(address, std::string("CONFIG GET ") + name), value)) continue;
      if (value.empty() && std::string_view(name) != "save") continue;
      program.argv.push_back(std::string("--") + name);
      program.argv.push_back(std::move(value));
    }
    return {};
  }
  return Fail(Code::kUnavailable,
              "find the command of the Redis: it does not tell (has it a password?)",
              "say how to start it: --service-command 'redis-server /etc/redis/redis.conf'");
}

}  // namespace

Status MakeRunnable(Program& program, const std::string& cwd, bool given) {
  while (!program.argv.empty() && program.argv.back().empty() && !given) program.argv.pop_back();
  // One that shows a title instead shows one string with blanks.
  const bool titled =
      !given && (program.argv.empty() ||
                 (program.argv.size() == 1 && program.argv[0].find(' ') != std::string::npos));
  if (titled && ProtocolOf(program.path) == Protocol::kRedis)
    CLOCHE_TRY(AskRedisForCommand(program));
  else if (titled)
    return Fail(
        Code::kUnavailable,
        fmt::format("find the command of '{}': it shows a title instead",
                    EscapeForTerminal(program.argv.empty() ? program.path : program.argv[0])),
        "say how to start it: --service-command 'PROGRAM ARGUMENT...'");
  if (given) {
    const std::string& first = program.argv[0];
    if (first.find('/') == std::string::npos) {
      // As a shell would find it; else it is the program that runs.
      const char* path = getenv("PATH");
      std::string_view rest = path ? path : "/usr/bin:/bin";
      std::string found;
      while (found.empty() && !rest.empty()) {
        const std::string candidate = std::string(rest.substr(0, rest.find(':'))) + "/" + first;
        if (access(candidate.c_str(), X_OK) == 0) found = candidate;
        rest.remove_prefix(
            std::min(rest.size(), rest.find(':') == rest.npos ? rest.size() : rest.find(':') + 1));
      }
      if (found.empty())
        return Fail(Code::kInvalid,
                    fmt::format("find {}: no such program", EscapeForTerminal(first)),
                    "give its whole path");
      program.path = found;
    } else {
      program.path = first[0] == '/' ? first : cwd + "/" + first;
    }
    return {};
  }
  // Its own loopback needs no key, and keys stay outside.
  if (ProtocolOf(program.path) == Protocol::kPostgres) {
    program.argv.insert(program.argv.end(), {"-c", "ssl=off"});
  }
  if (ProtocolOf(program.path) == Protocol::kRedis) {
    program.argv.insert(program.argv.end(), {"--daemonize", "no", "--supervised", "no"});
  }
  return {};
}

}  // namespace cloche::service
