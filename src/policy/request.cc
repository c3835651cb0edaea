#include "policy/request.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "policy/fields.h"
#include "policy/paths.h"

namespace cloche {
namespace {

constexpr double kLeastSnapshotSeconds = 1;

using nlohmann::json;

constexpr size_t kMaxString = 131'071;  // the kernel's MAX_ARG_STRLEN, less its NUL
constexpr size_t kMaxStrings = 4096;
constexpr size_t kMaxArguments = size_t{2} << 20;  // of all argv together
constexpr size_t kMaxLabels = 64;
constexpr size_t kMaxProjectFile = 64 << 10;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void ReadName(FieldReader& reader, std::string& out) {
  std::string name;
  const json* given = reader.Find("name");
  reader.Text("name", name, 4096);
  if (!given || !reader.ok()) return;
  reader.Take(CheckSandboxName(name));
  out = std::move(name);
}

void ReadBase(FieldReader& reader, std::string& directory) {
  std::string base = "host";
  reader.Text("base", base, 4095 + 4);
  if (!reader.ok() || base == "host") return;
  if (!base.starts_with("dir:"))
    return reader.Refuse("base",
                         fmt::format("'{}' is not a base", EscapeForTerminal(base.substr(0, 100))),
                         "give host, or dir:/absolute/path");
  Result<std::string> path = CleanPath(std::string_view(base).substr(4), "base");
  if (!path) return reader.Take(std::unexpected(std::move(path).error()));
  if (*path == "/") return reader.Refuse("base", "dir:/ is the host itself", "give host");
  directory = std::move(*path);
}

// Shown in tables and used as filters, so one line of printable text.
void ReadWord(FieldReader& reader, const char* key, std::string& out) {
  const json* given = reader.Find(key);
  reader.Text(key, out, 128);
  if (!given || !reader.ok()) return;
  if (out.empty()) return reader.Refuse(key, "it is empty", "leave it out, or give a name");
  if (std::ranges::any_of(out, IsControl))
    reader.Refuse(key, "it holds a control character", "give one line of printable text");
}

void ReadEnv(FieldReader& reader, std::vector<std::string>& out, std::vector<std::string>& names) {
  reader.Texts("env_names", names, 256, 256);
  reader.Texts("env", out, kMaxStrings, kMaxString);
  for (size_t i = 0; reader.ok() && i < out.size(); ++i)
    if (const size_t equals = out[i].find('='); equals == 0 || equals == std::string::npos)
      reader.Refuse(fmt::format("env[{}]", i), "it is not NAME=value",
                    "give a name, =, and the value (which may be empty)");
}

void ReadLabels(FieldReader& reader, std::map<std::string, std::string>& out) {
  const json* labels = reader.Object("labels");
  if (!labels) return;
  if (labels->size() > kMaxLabels)
    return reader.Refuse("labels",
                         fmt::format("{} labels, the most is {}", labels->size(), kMaxLabels),
                         "give fewer");
  for (const auto& [key, value] : labels->items()) {
    const bool good_key = !key.empty() && key.size() <= 63 && std::ranges::all_of(key, [](char c) {
      return IsLower(c) || IsDigit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
             c == '/' || c == '-';
    });
    if (!good_key)
      return reader.Refuse("labels",
                           fmt::format("bad key '{}'", EscapeForTerminal(key.substr(0, 100))),
                           "use 1 to 63 of letters, digits and . _ / -");
    if (!value.is_string() || value.get_ref<const std::string&>().size() > 256 ||
        std::ranges::any_of(value.get_ref<const std::string&>(), IsControl))
      return reader.Refuse(fmt::format("labels.{}", key), "bad value",
                           "give up to 256 bytes of printable text");
    out.emplace(key, value.get<std::string>());
  }
}

void ReadDeclared(FieldReader& reader, std::optional<DeclaredView>& out) {
  const json* object = reader.Object("declared");
  if (!object) return;
  DeclaredView declared;
  FieldReader inner(*object, "declared");
  inner.Paths("inputs", declared.inputs);
  inner.Path("output", declared.output);
  inner.Integer("tmp", declared.tmp, {.least = 64 << 10, .most = uint64_t{1} << 40, .bytes = true});
  reader.Take(inner.Finish());
  out = std::move(declared);
}

void ReadPty(FieldReader& reader, std::optional<PtySize>& out) {
  const json* object = reader.Object("pty");
  if (!object) return;
  std::optional<uint64_t> rows;
  std::optional<uint64_t> columns;
  FieldReader inner(*object, "pty");
  inner.Integer("rows", rows, {.least = 1, .most = 65'535});
  inner.Integer("columns", columns, {.least = 1, .most = 65'535});
  reader.Take(inner.Finish());
  out = PtySize{static_cast<uint16_t>(rows.value_or(24)),
                static_cast<uint16_t>(columns.value_or(80))};
}

void ReadAutoSnapshot(FieldReader& reader, SandboxRequest& out) {
  const json* wanted = reader.Find("auto_snapshot");
  if (!wanted) return;
  out.snapshot_commands = *wanted == "every-command";
  if (!out.snapshot_commands && wanted->is_number()) out.snapshot_every = wanted->get<double>();
  const bool good = out.snapshot_commands ||
                    (out.snapshot_every && *out.snapshot_every >= kLeastSnapshotSeconds &&
                     *out.snapshot_every <= kMostSeconds);
  if (!good)
    reader.Refuse("auto_snapshot", "it is neither every-command nor a time of a second or more",
                  "give every-command, or seconds");
}

void ReadSandbox(FieldReader& reader, SandboxRequest& out) {
  ReadName(reader, out.name);
  ReadBase(reader, out.base_directory);
  reader.Path("cwd", out.cwd);
  reader.Path("home", out.home);
  reader.Path("project", out.project);
  reader.Text("base_commit", out.base_commit, 64);
  if (out.base_commit.find_first_not_of("0123456789abcdef") != std::string::npos)
    reader.Refuse("base_commit", "it is not a commit", "give its hash in hex, or leave it out");
  reader.Text("project_file", out.project_file, kMaxProjectFile);
  if (!out.project_file.empty() && out.project.empty())
    reader.Refuse("project_file", "there is no project it belongs to", "give project, too");
  ReadEnv(reader, out.env, out.env_names);
  if (const json* limits = reader.Object("limits")) {
    Result<Limits> parsed = ParseLimits(*limits);
    if (parsed)
      out.limits = *parsed;
    else
      reader.Take(std::unexpected(std::move(parsed).error()));
  }
  reader.Paths("ro", out.ro);
  reader.Paths("rw", out.rw);
  reader.Paths("hide", out.hide);
  ReadDeclared(reader, out.declared);
  reader.Bool("drop_root", out.drop_root);
  reader.Bool("in_memory", out.in_memory);
  ReadWord(reader, "agent", out.agent);
  ReadWord(reader, "task", out.task);
  ReadLabels(reader, out.labels);
  std::string on_violation = "report";
  reader.Text("on_violation", on_violation, 32);
  if (on_violation == "kill")
    out.on_violation = OnViolation::kKill;
  else if (on_violation != "report")
    reader.Refuse("on_violation", "it is neither report nor kill", "give report or kill");

  ReadAutoSnapshot(reader, out);
  ReadNetwork(reader, out.network);
  ReadCanaries(reader, out.canaries);
  ReadSigning(reader, out.signing);
  ReadServices(reader, out.services);
  if (out.declared && !(out.ro.empty() && out.rw.empty() && out.hide.empty()))
    reader.Refuse("declared", "ro, rw and hide have no meaning beside it: nothing else is visible",
                  "name the paths as inputs or output");
  if (out.declared && !out.base_directory.empty())
    reader.Refuse("declared", "it takes its runtimes from the host, not from a directory",
                  "leave out base, or leave out declared");
  if (out.canaries.wanted && (out.declared || !out.base_directory.empty()))
    reader.Refuse("canaries", "decoys are laid into a copy of this machine",
                  "leave out canaries, or leave out base and declared");
}

void ReadCommand(FieldReader& reader, CommandRequest& out) {
  reader.Texts("argv", out.argv, kMaxStrings, kMaxString);
  if (out.argv.empty() || out.argv.front().empty())
    reader.Refuse("argv", "no command", "give the program and its arguments: [\"ls\", \"-l\"]");
  size_t total = 0;
  for (const std::string& argument : out.argv) total += argument.size() + 1;
  if (total > kMaxArguments)
    reader.Refuse(
        "argv",
        fmt::format("{} together, the most is {}", FormatBytes(total), FormatBytes(kMaxArguments)),
        "pass long input on standard input or in a file");
  ReadEnv(reader, out.env, out.env_names);
  reader.Path("cwd", out.cwd);
  reader.Bool("cwd_optional", out.cwd_optional);
  ReadPty(reader, out.pty);
  reader.Bool("stdin", out.wants_stdin);
  reader.Bool("background", out.background);
  reader.Bool("fresh", out.fresh);
  reader.Seconds("wall", out.wall, {.least = kLeastSeconds, .most = kMostSeconds});
  reader.Integer("output", out.output, {.least = kLeastOutput, .most = kMostOutput, .bytes = true});
  reader.Bool("timing", out.timing);
  ReadWord(reader, "agent", out.agent);
  if (out.background && out.wants_stdin)
    reader.Refuse("background", "a background command has no standard input",
                  "leave out stdin, or do not run it in the background");
  if (out.background && out.fresh)
    reader.Refuse("fresh", "a fresh command's sandbox ends with it, so somebody has to wait for it",
                  "leave out background, or use a sandbox of its own: cloche new");
}

}  // namespace

Status CheckSandboxName(std::string_view name) {
  if (IsValidSandboxName(name)) return {};
  return Fail(Code::kInvalid,
              fmt::format("read name: '{}' cannot be the name of a sandbox",
                          EscapeForTerminal(name.substr(0, 100))),
              "use 1 to 63 of a-z, 0-9 and -, beginning with a letter");
}

SandboxRequest TwinOf(SandboxRequest request) {
  request.name.clear();
  request.snapshot_commands = false;
  request.snapshot_every.reset();
  request.services.clear();
  return request;
}

Result<SandboxRequest> ParseSandboxRequest(const json& body) {
  SandboxRequest request;
  FieldReader reader(body, "");
  ReadSandbox(reader, request);
  CLOCHE_TRY(reader.Finish());
  return request;
}

Result<std::string> ParseProjectFileRequest(const json& body) {
  std::string text;
  FieldReader reader(body, "");
  if (reader.Find("text") == nullptr)
    reader.Refuse("text", "it is not there", "give the whole file, which may be empty");
  reader.Text("text", text, kMaxProjectFile);
  CLOCHE_TRY(reader.Finish());
  return text;
}

Result<CommandRequest> ParseCommandRequest(const json& body) {
  CommandRequest request;
  FieldReader reader(body, "");
  ReadCommand(reader, request);
  CLOCHE_TRY(reader.Finish());
  return request;
}

Result<RunRequest> ParseRunRequest(const json& body) {
  RunRequest request;
  FieldReader reader(body, "");
  ReadSandbox(reader, request.sandbox);
  ReadCommand(reader, request.command);
  reader.Bool("keep", request.keep);
  CLOCHE_TRY(reader.Finish());
  return request;
}

}  // namespace cloche
