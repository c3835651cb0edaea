#include "policy/service_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/fields.h"

namespace cloche {
namespace {

using nlohmann::json;

constexpr size_t kMostServices = 16;
constexpr size_t kMostStrings = 4096;
constexpr size_t kMostText = 131'071;
constexpr uint64_t kMostId = 0xffff'fffe;

void ReadId(FieldReader& reader, const char* key, uint32_t& out) {
  std::optional<uint64_t> id;
  reader.Integer(key, id, {.most = kMostId});
  out = static_cast<uint32_t>(id.value_or(0));
}

void ReadNumbers(FieldReader& reader, const char* key, uint64_t least, uint64_t most,
                 std::vector<uint32_t>& out) {
  const json* list = reader.Find(key);
  if (!list) return;
  const bool good =
      list->is_array() && list->size() <= 256 && std::ranges::all_of(*list, [&](const json& each) {
        return each.is_number_unsigned() && each.get<uint64_t>() >= least &&
               each.get<uint64_t>() <= most;
      });
  if (!good)
    return reader.Refuse(key, "it is not a list of such numbers",
                         fmt::format("give up to 256 numbers from {} to {}", least, most));
  out = list->get<std::vector<uint32_t>>();
}

void ReadDirectories(FieldReader& reader, std::vector<ServiceDirectory>& out) {
  const json* list = reader.Find("directories");
  if (!list) return;
  if (!list->is_array() || list->size() > 256)
    return reader.Refuse("directories", "it is not a list",
                         "give up to 256 of {path, mode, uid, gid}");
  for (const json& each : *list) {
    ServiceDirectory directory;
    std::optional<uint64_t> mode;
    FieldReader inner(each, "directories");
    inner.Path("path", directory.path);
    inner.Integer("mode", mode, {.most = 07777});
    ReadId(inner, "uid", directory.uid);
    ReadId(inner, "gid", directory.gid);
    if (!directory.path.starts_with("/run/"))
      inner.Refuse("path", "it is not below /run", "only /run is empty in a sandbox");
    reader.Take(inner.Finish());
    directory.mode = static_cast<uint32_t>(mode.value_or(0755));
    out.push_back(std::move(directory));
  }
}

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '+' || c == '@';
  });
}

Status ReadService(const json& object, ServiceRequest& out) {
  FieldReader reader(object, "services");
  reader.Text("name", out.name, 64);
  if (!IsName(out.name))
    reader.Refuse("name", "it is not a name", "use 1 to 64 of letters, digits and . _ - + @");
  reader.Path("program", out.program);
  reader.Texts("argv", out.argv, kMostStrings, kMostText);
  if (out.program.empty() || out.argv.empty())
    reader.Refuse("program", "nothing to run", "give program and argv");
  reader.Texts("env", out.env, kMostStrings, kMostText);
  if (std::ranges::any_of(out.env, [](const auto& each) { return each.find('=') == each.npos; }))
    reader.Refuse("env", "it is not NAME=value", "give a name, =, and the value");
  reader.Path("cwd", out.cwd);
  ReadId(reader, "uid", out.uid);
  ReadId(reader, "gid", out.gid);
  ReadNumbers(reader, "groups", 0, kMostId, out.groups);
  ReadNumbers(reader, "ports", 1, 65'535, out.ports);
  reader.Paths("sockets", out.sockets);
  ReadDirectories(reader, out.directories);
  reader.Paths("data", out.data);
  std::optional<uint64_t> since;
  reader.Integer("since_ms", since, {.most = UINT64_MAX / 2});
  out.since_ms = since.value_or(0);
  return reader.Finish();
}

}  // namespace

void ReadServices(FieldReader& reader, std::vector<ServiceRequest>& out) {
  const json* list = reader.Find("services");
  if (!list) return;
  if (!list->is_array() || list->size() > kMostServices)
    return reader.Refuse("services", "it is not a list of services",
                         fmt::format("give at most {}", kMostServices));
  std::set<std::string> names;
  for (const json& each : *list) {
    ServiceRequest service;
    reader.Take(ReadService(each, service));
    if (!names.insert(service.name).second)
      reader.Refuse("services", fmt::format("two are named {}", EscapeForTerminal(service.name)),
                    "give them different names");
    out.push_back(std::move(service));
  }
}

Result<std::vector<ServiceRequest>> ParseServices(const json& body) {
  std::vector<ServiceRequest> services;
  FieldReader reader(body, "");
  ReadServices(reader, services);
  CLOCHE_TRY(reader.Finish());
  return services;
}

json ServiceToJson(const ServiceRequest& service) {
  json directories = json::array();
  for (const ServiceDirectory& each : service.directories)
    directories.push_back(
        {{"path", each.path}, {"mode", each.mode}, {"uid", each.uid}, {"gid", each.gid}});
  json out = {
      {"name", service.name},       {"program", service.program}, {"argv", service.argv},
      {"env", service.env},         {"uid", service.uid},         {"gid", service.gid},
      {"groups", service.groups},   {"ports", service.ports},     {"sockets", service.sockets},
      {"directories", directories}, {"data", service.data},       {"since_ms", service.since_ms}};
  if (!service.cwd.empty()) out["cwd"] = service.cwd;
  return out;
}

}  // namespace cloche
