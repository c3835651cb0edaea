#include "cli/sandbox_view.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/text.h"

namespace cloche::cli {
namespace {

std::string Heading(const char* text, bool colour) {
  return "\n" + Coloured(colour, "1", text) + "\n";
}

// Key and value lines for the members of an object, in their order.
std::string Members(const Json& object, const char* indent = "  ") {
  Table table({});
  if (object.is_object())
    for (const auto& [key, value] : object.items())
      if (!value.is_null() && value != "") table.AddRow({key, DescribeValue(value)});
  return table.Render(false, indent);
}

std::string Lines(const Json& array) {
  std::string text;
  for (const Json& item : array) text += "  " + EscapeForTerminal(DescribeValue(item)) + "\n";
  return text;
}

std::string LimitSection(const Json& sandbox, bool colour) {
  std::string text;
  const Json& limits = Field(sandbox, "limits");
  Table table({});
  if (limits.is_object())
    for (const auto& [name, value] : limits.items())
      table.AddRow({name, DescribeLimit(name, value)});
  if (!table.empty()) text += Heading("Limits", colour) + table.Render(false, "  ");
  for (const Json& reason : Field(sandbox, "not_enforced")) {
    // --inodes always works, by keeping changes in memory; this default is of interest only to
    // explain.
    const std::string why = DescribeValue(reason);
    if (!why.starts_with("inodes:"))
      text += "  not enforced here: " + EscapeForTerminal(why) + "\n";
  }
  return text;
}

std::string DenialSection(const Json& denials, bool colour) {
  Table table({"CALL", "ARGUMENTS", "PROCESS", "PID", "CLASS", "COUNT", "LAST"});
  table.AlignRight(5);
  for (const Json& denial : denials)
    table.AddRow({Text(denial, "call"),
                  DescribeValue(Field(denial, denial.contains("detail") ? "detail" : "args")),
                  Text(denial, "process"), DescribeValue(Field(denial, "pid")),
                  Text(denial, "class"), DescribeValue(Field(denial, "count")),
                  Text(denial, "last")});
  if (table.empty()) return Heading("Denied", colour) + "  nothing\n";
  return Heading("Denied", colour) + table.Render(colour, "  ");
}

}  // namespace

std::string LinesForTerminal(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\n\t");
    std::string_view part = bytes.substr(0, end);
    if (end != std::string_view::npos && bytes[end] == '\n' && part.ends_with('\r'))
      part.remove_suffix(1);
    out += EscapeForTerminal(part);
    if (end == std::string_view::npos) break;
    out += bytes[end];
    bytes.remove_prefix(end + 1);
  }
  return out;
}

std::string ServiceTable(const Json& services, bool colour, std::string_view indent) {
  Table table({"SERVICE", "STATE", "AT", "RESTARTS", "DATA"});
  table.AlignRight(3);
  for (const Json& service : services) {
    std::string at;
    for (const Json& port : Field(service, "ports")) at += (at.empty() ? "" : " ") + port.dump();
    for (const Json& socket : Field(service, "sockets"))
      at += (at.empty() ? "" : " ") + DescribeValue(socket);
    std::string data;
    for (const Json& path : Field(service, "data"))
      data += (data.empty() ? "" : " ") + DescribeValue(path);
    const std::string reason = Text(service, "reason");
    table.AddRow({Text(service, "name"),
                  Text(service, "state") + (reason.empty() ? "" : " (" + reason + ")"), at,
                  DescribeValue(Field(service, "restarts")), data});
  }
  return table.Render(colour, indent);
}

std::string DescribeState(const Json& sandbox) {
  const std::string state = Text(sandbox, "state");
  const std::string reason = Text(sandbox, "reason");
  if (reason.starts_with(state + " ")) return reason;  // "stopped by its owner"
  return reason.empty() ? state : state + " (" + reason + ")";
}

std::string DescribeAge(const std::string& rfc3339_utc, time_t now) {
  tm parts{};
  if (sscanf(rfc3339_utc.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &parts.tm_year, &parts.tm_mon,
             &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6)
    return "-";
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return FormatAge(difftime(now, timegm(&parts)));
}

std::string DescribePlace(const std::string& path, const std::string& home) {
  if (path.empty()) return "-";
  if (home.size() < 2 || !path.starts_with(home)) return path;
  const std::string rest = path.substr(home.size());
  return rest.empty() || rest.starts_with('/') ? "~" + rest : path;
}

std::string PlaceOf(const Json& sandbox) {
  const std::string project = Text(sandbox, "project");
  return project.empty() ? Text(sandbox, "cwd") : project;
}

std::string DescribeLimit(const std::string& name, const Json& value) {
  if (!value.is_number()) return DescribeValue(value);
  const double number = value.get<double>();
  if (number == 0) return "unlimited";
  if (name == "memory" || name == "disk" || name == "output")
    return FormatBytes(static_cast<uint64_t>(number));
  if (name == "wall" || name == "idle" || name == "life") return FormatDuration(number);
  return DescribeValue(value);
}

std::string AlarmLabel(const Json& trigger) {
  const std::string kind = Text(trigger, "kind");
  return kind == "rights" ? "opens up" : kind == "credential" ? "credential" : "runs later";
}

std::string DescribeValue(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, item] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? key + "=" : "") + DescribeValue(item);
  return text.empty() ? "none" : text;
}

std::string DescribeStaleness(const Json& stale) {
  const double changed = Number(stale, "changed");
  if (changed == 0) return "";
  std::string text =
      fmt::format("{} behind reality: {}{:.0f} path{} of the project changed since",
                  FormatAge(Number(stale, "age_s")), Flag(stale, "complete") ? "" : "more than ",
                  changed, changed == 1 ? "" : "s");
  if (const double both = Number(stale, "both"); both > 0)
    text += fmt::format(", {:.0f} of them also changed here", both);
  return text;
}

std::string DescribeSandbox(const Json& sandbox, const Json& stale, time_t now, bool colour) {
  Table facts({});
  facts.AddRow({"id", Text(sandbox, "id")});
  facts.AddRow({"state", DescribeState(sandbox)});
  if (const std::string place = PlaceOf(sandbox); !place.empty())
    facts.AddRow({Text(sandbox, "project").empty() ? "directory" : "project", place});
  for (const char* key : {"name", "base", "mode", "agent", "task", "labels", "commands"})
    if (const Json& value = Field(sandbox, key); !value.is_null() && value != "" && !value.empty())
      facts.AddRow({key, DescribeValue(value)});
  if (const std::string created = Text(sandbox, "created"); !created.empty())
    facts.AddRow({"created", created + " (" + DescribeAge(created, now) + " ago)"});
  if (const std::string commit = Text(stale, "base_commit"); !commit.empty())
    facts.AddRow({"base commit", commit});
  if (const std::string pinned = Text(sandbox, "project_file"); !pinned.empty())
    facts.AddRow({"cloche.toml", "as it was then, " + pinned});
  std::string secrets;
  for (const Json& each : Field(sandbox, "secrets"))
    secrets += fmt::format("{}{} as {}", secrets.empty() ? "" : ", ", Text(each, "name"),
                           Text(each, "variable"));
  if (!secrets.empty()) facts.AddRow({"secrets", secrets});
  if (const std::string behind = DescribeStaleness(stale); !behind.empty())
    facts.AddRow({"stale", behind});
  for (const Json& path : Field(stale, "both_paths"))
    if (path.is_string()) facts.AddRow({"", "changed here, too: " + path.get<std::string>()});
  for (const Json& path : Field(stale, "moved_before"))
    if (path.is_string())
      facts.AddRow({"", "changed here, and outside before a refresh: " + path.get<std::string>()});
  if (const Json& usage = Field(sandbox, "usage"); usage.is_object() && !usage.empty())
    facts.AddRow(
        {"usage", fmt::format("{:.2f} s CPU, {}, {:.0f} process{}", Number(usage, "cpu_s"),
                              FormatBytes(static_cast<uint64_t>(Number(usage, "memory_bytes"))),
                              Number(usage, "pids"), Number(usage, "pids") == 1 ? "" : "es")});
  std::string text = facts.Render(false);
  if (const Json& decoys = Field(sandbox, "decoys"); !decoys.empty()) {
    Table table({});
    for (const Json& each : decoys)
      table.AddRow({Text(each, "path"), DescribeValue(Field(each, "kinds")),
                    Flag(each, "if_there_is_one") ? "if there is such a file" : ""});
    text += Heading("Decoys", colour) + table.Render(false, "  ");
  }
  if (const Json& services = Field(sandbox, "services"); !services.empty())
    text += Heading("Services", colour) + ServiceTable(services, colour, "  ");
  text += LimitSection(sandbox, colour);
  if (const Json& enforced = Field(sandbox, "enforced"); enforced.is_object())
    text += Heading("Enforced", colour) + Members(enforced);
  return text + DenialSection(Field(sandbox, "denials"), colour);
}

std::string DescribeDropped(const Json& explanation, bool colour) {
  std::string text;
  for (const auto& [key, heading] :
       {std::pair{
            "dropped_secrets",
            "Variables not passed: they look like secrets (`cloche secret set` keeps one for use "
            "inside)"},
        std::pair{"dropped_env", "Variables not passed: not on the allowlist"}})
    if (const Json& names = Field(explanation, key); !names.empty())
      text += Heading(heading, colour) + Lines(names);
  return text;
}

}  // namespace cloche::cli
