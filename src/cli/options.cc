#include "cli/options.h"

#include <array>

namespace cloche::cli {
namespace {

struct LimitOption {
  const char* name;
  const char* value;
  const char* help;
};

constexpr std::array kSandboxLimits = {
    LimitOption{"cpu", "N", "CPUs, e.g. 1.5"},
    LimitOption{"memory", "SIZE", "memory, e.g. 512M; swap is off"},
    LimitOption{"disk", "SIZE", "bytes it may add or change on disk"},
    LimitOption{"inodes", "N", "files it may add or change"},
    LimitOption{"pids", "N", "processes and threads"},
    LimitOption{"files", "N", "open files of a process"},
    LimitOption{"idle", "TIME", "end it after this long without a command or output, e.g. 5m"},
    LimitOption{"life", "TIME", "end it after this long, e.g. 1h"},
    LimitOption{"commands", "N", "commands it may run in all"},
    LimitOption{"denials", "N", "denied calls after which it ends"},
};

constexpr std::array kCommandLimits = {
    LimitOption{"output", "SIZE", "output kept of a command, its beginning and its end"},
    LimitOption{"wall", "TIME", "end a command after this long, e.g. 60s"},
};

// `--wall "$LIMIT"` with nothing in it must not mean "no limit".
std::string NotEmpty(const std::string& value) { return value.empty() ? "it is empty" : ""; }

template <size_t N>
void AddLimits(CLI::App& app, const std::array<LimitOption, N>& options, LimitFlags& limits) {
  for (const LimitOption& option : options)
    app.add_option(std::string("--") + option.name, limits[option.name], option.help)
        ->type_name(option.value)
        ->check(NotEmpty)
        ->group("Limits");
}

void AddText(CLI::App& app, const char* name, std::string& value, const char* help,
             const char* value_name) {
  app.add_option(name, value, help)->type_name(value_name)->check(NotEmpty);
}

constexpr const char* kEnvHelp = "pass this variable although it is not on the allowlist";

}  // namespace

void AddList(CLI::App& app, const char* name, std::vector<std::string>& values, const char* help,
             const char* value_name) {
  // A callback, because CLI11 takes a vector's value "[a,b]" apart.
  app.add_option_function<std::string>(
         name, [&values](const std::string& value) { values.push_back(value); }, help)
      ->type_name(value_name)
      ->check(NotEmpty)
      ->trigger_on_parse()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void AddSandboxFlags(CLI::App& app, SandboxFlags& flags) {
  AddText(app, "--name", flags.name, "a name for the sandbox", "NAME");
  AddText(app, "--base", flags.base, "what it is a copy of: host (default) or dir:PATH", "BASE");
  AddList(app, "--ro", flags.ro, "make PATH read-only inside");
  AddList(
      app, "--rw", flags.rw,
      "bind PATH for real: writes there are not copies, sockets in it lead to the host's services");
  AddList(app, "--hide", flags.hide, "make PATH absent inside");
  app.add_flag("--declared", flags.declared,
               "show nothing but the inputs, the output directory and the runtimes");
  AddList(app, "--input", flags.inputs, "with --declared: show PATH, read-only");
  AddText(app, "--out", flags.out, "with --declared: the directory that is written for real",
          "DIR");
  AddList(app, "--allow", flags.allow,
          "let it reach this, e.g. api.example.com:443 or @npm (docs/network.md)", "RULE");
  if (app.get_option_no_throw("--yes") == nullptr)
    app.add_flag("-y,--yes", flags.yes, "with --allow '*': do not ask whether that is meant");
  AddList(app, "--deny", flags.deny, "but not this: deny goes over allow", "RULE");
  AddList(app, "--secret", flags.secrets,
          "let it use this secret without holding it (docs/secrets.md)", "NAME[:VARIABLE]");
  AddList(app, "--net-limit", flags.net_limits,
          "connections, requests_per_second, bytes_up or bytes_down", "NAME=VALUE");
  app.add_flag("--proxy-env", flags.proxy_env,
               "set http_proxy and its kin, for programs that want a proxy");
  app.add_flag("--canaries", flags.canaries,
               "lay decoy credentials; one that leaves is a violation (docs/canaries.md)");
  AddList(app, "--sign", flags.sign,
          "let it have signatures of this key of your ssh-agent (docs/signing.md)",
          "KEY[:git|:ssh]");
  AddText(app, "--sign-limit", flags.sign_limit, "signatures in a minute, by default 10", "N");
  AddList(app, "-e,--env", flags.env, kEnvHelp, "NAME[=VALUE]");
  app.add_flag("--drop-root", flags.drop_root, "as root: do not be root inside");
  app.add_flag("--in-memory", flags.in_memory,
               "keep the changes in memory: fast with many small files, gone with the daemon");
  AddText(app, "--on-violation", flags.on_violation, "what a violation does: report or kill",
          "ACTION");
  AddText(app, "--auto-snapshot", flags.auto_snapshot,
          "save its state by itself: every-command, or a time such as 5m", "WHEN");
  AddText(app, "--agent", flags.agent, "the agent this is for; a sandbox serves one", "NAME");
  AddText(app, "--task", flags.task, "what it is for", "TEXT");
  AddList(app, "--label", flags.labels, "a label to filter by", "KEY=VALUE");
  app.add_flag("--no-defaults", flags.no_defaults,
               "leave out [sandbox] of cloche.toml and of your config.toml (docs/settings.md)");
  AddLimitFlags(app, flags.limits);
}

void AddLimitFlags(CLI::App& app, LimitFlags& limits) {
  AddLimits(app, kSandboxLimits, limits);
  AddLimits(app, kCommandLimits, limits);
}

void AddCommandFlags(CLI::App& app, CommandFlags& flags) {
  AddList(app, "-e,--env", flags.env, kEnvHelp, "NAME[=VALUE]");
  AddText(app, "-w,--workdir", flags.cwd, "run it in this directory of the sandbox", "DIR");
  AddText(app, "--agent", flags.agent, "refuse when the sandbox serves another agent", "NAME");
  app.add_flag("--fresh", flags.fresh, "run from the clean base, in a disposable twin");
  AddLimits(app, kCommandLimits, flags.limits);
}

void AddTerminalFlags(CLI::App& app, Terminal& terminal) {
  app.add_flag_callback(
      "-t", [&terminal] { terminal = Terminal::kForce; }, "give the command a terminal of its own");
  app.add_flag_callback(
      "-T", [&terminal] { terminal = Terminal::kForbid; },
      "give it none (default: if standard input and output are terminals)");
}

void AddSessionOutputFlags(CLI::App& app, OutputFlags& flags) {
  AddJsonFlag(app, flags.json);
  app.add_flag("-q,--quiet", flags.quiet, "say nothing about changes and denials");
  app.add_flag("--timing", flags.timing, "print where each millisecond went");
}

CLI::Option* AddJsonFlag(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "print JSON on standard output");
}

}  // namespace cloche::cli
