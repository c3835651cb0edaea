#include "cli/request.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "policy/environment.h"
#include "policy/limits.h"
#include "policy/sign_request.h"

namespace cloche::cli {
namespace {

// "." and leading ".." are folded into `cwd`, which has no symlinks. A ".." after a name stays, for
// the daemon to refuse: only the kernel knows where it leads.
std::string Absolute(std::string_view cwd, std::string_view path) {
  std::string out(path.starts_with('/') ? "" : cwd == "/" ? "" : cwd);
  bool leading = !path.starts_with('/');
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == ".." && leading) {
      if (!out.empty()) out.erase(out.find_last_of('/'));
      continue;
    }
    leading = false;
    out.append("/").append(part);
  }
  return out.empty() ? "/" : out;
}

Status AddPaths(Body& body, const char* key, const std::vector<std::string>& paths,
                const std::string& cwd) {
  for (const std::string& path : paths) {
    if (path.empty())
      return Fail(Code::kInvalid, fmt::format("read {}: a path is empty", key), "give a path");
    body[key].push_back(Absolute(cwd, path));
  }
  return {};
}

Status AddLabels(Body& body, const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Fail(Code::kInvalid, fmt::format("--label {}: not KEY=VALUE", label),
                  "write it like --label team=web");
    body["labels"][label.substr(0, equals)] = label.substr(equals + 1);
  }
  return {};
}

Status AddNetwork(Body& body, const SandboxFlags& flags) {
  Body network = Body::object();
  for (const auto& [action, rules] :
       {std::pair{"allow", &flags.allow}, std::pair{"deny", &flags.deny}})
    for (const std::string& rule : *rules)
      network["rules"].push_back({{"action", action}, {"rule", rule}});
  for (const std::string& secret : flags.secrets)
    network["secrets"].push_back(SecretGrantBody(secret));
  if (flags.proxy_env) network["proxy_env"] = true;
  for (const std::string& limit : flags.net_limits) {
    const size_t equals = limit.find('=');
    const std::string name = limit.substr(0, equals);
    const auto value = ParseBytes(equals == std::string::npos ? "" : limit.substr(equals + 1));
    if (!value)
      return Fail(Code::kInvalid,
                  fmt::format("--net-limit {}: not NAME=VALUE", EscapeForTerminal(limit)),
                  "write it like --net-limit connections=20 or bytes_down=1G");
    network["limits"][name] = *value;
  }
  if (!network.empty()) body["network"] = std::move(network);
  return {};
}

Status AddSigning(Body& body, const SandboxFlags& flags, const Surroundings& around) {
  if (flags.sign.empty()) {
    if (flags.sign_limit.empty()) return {};
    return Fail(Code::kInvalid, "--sign-limit has no meaning without --sign", "add --sign KEY");
  }
  ASSIGN_OR_RETURN(Body signing, SigningBody(flags.sign, "keys", around.environment));
  if (!flags.sign_limit.empty()) {
    const auto limit = ParseBytes(flags.sign_limit);
    if (!limit)
      return Fail(Code::kInvalid,
                  fmt::format("--sign-limit {}: not a number", EscapeForTerminal(flags.sign_limit)),
                  "give one such as 10");
    signing["per_minute"] = *limit;
  }
  body["sign"] = std::move(signing);
  return {};
}

Status AddDeclared(Body& body, const SandboxFlags& flags, const std::string& cwd) {
  if (!flags.declared) {
    if (flags.inputs.empty() && flags.out.empty()) return {};
    return Fail(Code::kInvalid, "--input and --out have no meaning without --declared",
                "add --declared, or use --ro and --rw");
  }
  Body declared = {{"inputs", Body::array()}};
  CLOCHE_TRY(AddPaths(declared, "inputs", flags.inputs, cwd));
  if (!flags.out.empty()) declared["output"] = Absolute(cwd, flags.out);
  body["declared"] = std::move(declared);
  return {};
}

Status AddBase(Body& body, const SandboxFlags& flags, const std::string& cwd) {
  if (flags.base.empty()) return {};
  constexpr std::string_view kDirectory = "dir:";
  if (flags.base == "host") {
    body["base"] = "host";
  } else if (flags.base.starts_with(kDirectory) && flags.base.size() > kDirectory.size()) {
    // Paths hidden in it are known by their real names, so links are resolved here, as the caller.
    const std::string path = Absolute(cwd, flags.base.substr(kDirectory.size()));
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    body["base"] = "dir:" + (error ? path : real.string());
  } else {
    return Fail(Code::kInvalid, fmt::format("--base {}: no such base", flags.base),
                "use host or dir:PATH");
  }
  return {};
}

void AddText(Body& body, const char* key, const std::string& value) {
  if (!value.empty()) body[key] = value;
}

}  // namespace

Result<Body> SigningBody(const std::vector<std::string>& keys, const char* key,
                         const std::vector<std::string>& environment) {
  Body body = Body::object();
  constexpr std::string_view kAgent = "SSH_AUTH_SOCK=";
  for (const std::string& variable : environment)
    if (variable.starts_with(kAgent)) body["agent"] = variable.substr(kAgent.size());
  if (!body.contains("agent"))
    return Fail(Code::kInvalid, "grant a key: there is no ssh-agent, SSH_AUTH_SOCK is not set",
                "start one and give it the key: eval $(ssh-agent) && ssh-add");
  for (const std::string& each : keys) {
    ASSIGN_OR_RETURN(const SigningKey parsed, ParseSigningKeyText(each));
    Body made = {{"name", parsed.name}, {"use", parsed.use}};
    if (!parsed.host.empty()) made["host"] = parsed.host;
    body[key].push_back(std::move(made));
  }
  return body;
}

Result<Body> LimitsBody(const LimitFlags& flags) {
  Body limits = Body::object();
  for (const auto& [name, text] : flags) {
    if (text.empty()) continue;
    auto value = ParseLimitText(name, text);
    if (!value) {
      Error error = value.error();
      error.message = fmt::format("--{}: {}", name, error.message);
      return std::unexpected(std::move(error));
    }
    limits[name] = *std::move(value);
  }
  return limits;
}

Result<Environment> ChooseEnvironment(const std::vector<std::string>& environment,
                                      const std::vector<std::string>& wanted) {
  std::vector<std::string> all = environment;
  std::vector<std::string> names;
  for (const std::string& want : wanted) {
    const size_t equals = want.find('=');
    const std::string name = want.substr(0, equals);
    if (name.empty() || want.find('\0') != std::string::npos)
      return Fail(Code::kInvalid, fmt::format("--env {}: not NAME or NAME=VALUE", want),
                  "write it like --env CI or --env CI=1");
    names.push_back(name);
    if (equals == std::string::npos) continue;
    std::erase_if(all, [&](const std::string& old) { return old.starts_with(name + "="); });
    all.push_back(want);
  }
  std::vector<std::string> unsayable;  // JSON has no word for them
  std::erase_if(all, [&](const std::string& variable) {
    const bool plain = IsUtf8(variable);
    if (!plain) unsayable.push_back(variable.substr(0, variable.find('=')));
    return !plain;
  });
  FilteredEnvironment filtered = FilterEnvironment(all, names);
  std::ranges::move(unsayable, std::back_inserter(filtered.dropped_other));
  return Environment{std::move(filtered.kept), std::move(names),
                     std::move(filtered.dropped_secrets), std::move(filtered.dropped_other)};
}

Result<Body> SandboxRequest(const SandboxFlags& flags, const Surroundings& around) {
  Body body = Body::object();
  if (!flags.name.empty() && !IsValidSandboxName(flags.name))
    return Fail(Code::kInvalid, fmt::format("--name {}: not a name", flags.name),
                "use 1 to 63 of a-z, 0-9 and -, starting with a letter");
  if (!flags.on_violation.empty() && flags.on_violation != "report" && flags.on_violation != "kill")
    return Fail(Code::kInvalid, fmt::format("--on-violation {}: unknown", flags.on_violation),
                "use report or kill");
  AddText(body, "name", flags.name);
  CLOCHE_TRY(AddBase(body, flags, around.cwd));
  AddText(body, "cwd", around.cwd);
  AddText(body, "home", around.home);
  AddText(body, "project", around.project);
  AddText(body, "base_commit", around.base_commit);
  AddText(body, "project_file", around.project_file);
  ASSIGN_OR_RETURN(auto environment, ChooseEnvironment(around.environment, flags.env));
  body["env"] = std::move(environment.kept);
  if (!environment.asked_for.empty()) body["env_names"] = std::move(environment.asked_for);
  ASSIGN_OR_RETURN(Body limits, LimitsBody(flags.limits));
  if (flags.setting_limits.is_object())
    for (const auto& [name, value] : flags.setting_limits.items())
      if (!limits.contains(name)) limits[name] = value;
  if (!limits.empty()) body["limits"] = std::move(limits);
  CLOCHE_TRY(AddPaths(body, "ro", flags.ro, around.cwd));
  CLOCHE_TRY(AddPaths(body, "rw", flags.rw, around.cwd));
  CLOCHE_TRY(AddPaths(body, "hide", flags.hide, around.cwd));
  CLOCHE_TRY(AddDeclared(body, flags, around.cwd));
  CLOCHE_TRY(AddNetwork(body, flags));
  CLOCHE_TRY(AddSigning(body, flags, around));
  if (flags.canaries) body["canaries"] = true;
  if (flags.drop_root) body["drop_root"] = true;
  if (flags.in_memory) body["in_memory"] = true;
  AddText(body, "agent", flags.agent);
  AddText(body, "task", flags.task);
  CLOCHE_TRY(AddLabels(body, flags.labels));
  AddText(body, "on_violation", flags.on_violation);
  if (flags.auto_snapshot == "every-command") {
    body["auto_snapshot"] = flags.auto_snapshot;
  } else if (!flags.auto_snapshot.empty()) {
    const auto seconds = ParseDuration(flags.auto_snapshot);
    if (!seconds)
      return Fail(
          Code::kInvalid,
          fmt::format("--auto-snapshot {}: unknown", EscapeForTerminal(flags.auto_snapshot)),
          "give every-command, or a time such as 5m");
    body["auto_snapshot"] = *seconds;
  }
  return body;
}

Result<Body> CommandRequest(const CommandFlags& flags, const Surroundings& around) {
  if (flags.argv.empty() || flags.argv[0].empty())
    return Fail(Code::kInvalid, "no command given", "put it after --, e.g. -- make test");
  Body body = {{"argv", flags.argv}};
  ASSIGN_OR_RETURN(auto environment, ChooseEnvironment(around.environment, flags.env));
  body["env"] = std::move(environment.kept);
  if (!environment.asked_for.empty()) body["env_names"] = std::move(environment.asked_for);
  if (flags.cwd.empty()) {
    AddText(body, "cwd", around.cwd);
    body["cwd_optional"] = true;
  } else {
    body["cwd"] = Absolute(around.cwd, flags.cwd);
  }
  if (flags.pty) body["pty"] = {{"rows", flags.pty->rows}, {"columns", flags.pty->columns}};
  body["stdin"] = flags.read_stdin;
  if (flags.background) body["background"] = true;
  if (flags.fresh) body["fresh"] = true;
  ASSIGN_OR_RETURN(const Body limits, LimitsBody(flags.limits));
  for (const auto& [name, value] : limits.items()) body[name] = value;
  if (flags.timing) body["timing"] = true;
  AddText(body, "agent", flags.agent);
  return body;
}

Result<Body> RunRequest(const SandboxFlags& sandbox, const CommandFlags& command, bool keep,
                        const Surroundings& around) {
  ASSIGN_OR_RETURN(Body body, SandboxRequest(sandbox, around));
  CommandFlags of_command = command;
  of_command.env = sandbox.env;
  ASSIGN_OR_RETURN(const Body rest, CommandRequest(of_command, around));
  body.update(rest);
  if (keep) body["keep"] = true;
  return body;
}

std::string FindProject(const std::string& cwd, const std::string& home,
                        const std::function<bool(const std::string&)>& exists) {
  for (std::string directory = cwd; directory.size() > 1;) {
    if (directory == home) return "";
    if (exists(directory + "/.git") || exists(directory + "/cloche.toml")) return directory;
    directory.erase(directory.find_last_of('/'));
  }
  return "";
}

std::string EncodeSegment(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<std::string> SnapshotTarget(std::string_view ref, std::string_view rest) {
  if (ref.empty())
    return Fail(Code::kInvalid, "no snapshot named", "cloche snapshots SANDBOX shows them");
  return fmt::format("/v1/snapshots/{}{}", EncodeSegment(ref), rest);
}

Body SecretGrantBody(const std::string& text) {
  const size_t colon = text.find(':');
  Body grant = {{"name", text.substr(0, colon)}};
  if (colon != std::string::npos) grant["variable"] = text.substr(colon + 1);
  return grant;
}

Result<std::string> SandboxTarget(std::string_view ref, std::string_view rest) {
  if (ref.empty()) return Fail(Code::kInvalid, "no sandbox named", "cloche ls shows them");
  return fmt::format("/v1/sandboxes/{}{}", EncodeSegment(ref), rest);
}

std::string QueryString(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields)
    if (!value.empty())
      out += fmt::format("{}{}={}", out.empty() ? '?' : '&', name, EncodeSegment(value));
  return out;
}

}  // namespace cloche::cli
