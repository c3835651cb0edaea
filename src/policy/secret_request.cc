#include "policy/secret_request.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "policy/fields.h"

namespace cloche {
namespace {

using nlohmann::json;

constexpr size_t kMostHosts = 32, kMostHost = 300;
constexpr size_t kMostName = 64, kMostLike = 32;
constexpr size_t kMostValue = 64 << 10;  // the vault says what it takes

void ReadValue(FieldReader& reader, json& body, std::string& out) {
  reader.Text("value", out, kMostValue);
  if (!body.is_object() || !body.contains("value"))
    return reader.Refuse("value", "it is missing", "give the value on standard input");
  if (body["value"].is_string()) Wipe(body["value"].get_ref<std::string&>());
}

}  // namespace

bool IsValidSecretName(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && (IsLetter(name[0]) || IsDigit(name[0])) &&
         std::ranges::all_of(name, [](char c) {
           return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '-';
         });
}

bool IsValidVariable(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && !IsDigit(name[0]) &&
         std::ranges::all_of(name, [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }) &&
         // These are ours, or decide what runs at all.
         !name.starts_with("CLOCHE_") && !name.starts_with("LD_") && name != "PATH" &&
         name != "HOME" && name != "PWD";
}

std::string VariableOf(std::string_view secret) {
  std::string name = IsDigit(secret.empty() ? 'x' : secret[0]) ? "_" : "";
  for (const char c : secret)
    name += c >= 'a' && c <= 'z'        ? static_cast<char>(c - 'a' + 'A')
            : IsLetter(c) || IsDigit(c) ? c
                                        : '_';
  return name;
}

Result<SecretRequest> ParseSecretRequest(json& body) {
  SecretRequest request;
  FieldReader reader(body, "");
  ReadValue(reader, body, request.value);
  reader.Texts("hosts", request.hosts, kMostHosts, kMostHost);
  if (request.hosts.empty())
    reader.Refuse("hosts", "a secret belongs to a host",
                  "say where it may go: cloche secret set NAME --host api.example.com");
  reader.Texts("where", request.where, 4, 16);
  if (request.where.empty()) request.where = {"header", "basic"};
  for (const std::string& each : request.where)
    if (each != "header" && each != "basic" && each != "query" && each != "json")
      reader.Refuse("where", "it knows header, basic, query and json", "give some of these");
  std::ranges::sort(request.where);
  request.where.erase(std::unique(request.where.begin(), request.where.end()), request.where.end());
  reader.Text("variable", request.variable, kMostName);
  if (!request.variable.empty() && !IsValidVariable(request.variable))
    reader.Refuse("variable", "it is not a name of a variable, or not one for a secret",
                  "give one such as API_TOKEN");
  reader.Text("like", request.like, kMostLike);
  if (!std::ranges::all_of(request.like, [](char c) {
        return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.';
      }))
    reader.Refuse("like", "it is not a beginning of a token", "give one such as ghp_");
  if (Status read = reader.Finish(); !read) {
    Wipe(request.value);
    return std::unexpected(read.error());
  }
  return request;
}

Result<std::string> ParseSecretValue(json& body) {
  std::string value;
  FieldReader reader(body, "");
  ReadValue(reader, body, value);
  if (Status read = reader.Finish(); !read) {
    Wipe(value);
    return std::unexpected(read.error());
  }
  return value;
}

}  // namespace cloche
