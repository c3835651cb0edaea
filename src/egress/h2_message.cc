#include "egress/h2_message.h"

#include <fmt/core.h>

#include <algorithm>

namespace cloche::egress {
namespace {

// These speak of one connection, and HTTP/2 has other means for what they say.
constexpr std::string_view kOfConnections[] = {"connection",       "keep-alive",
                                               "proxy-connection", "transfer-encoding",
                                               "upgrade",          "http2-settings"};

std::unexpected<Error> Bad(std::string_view why) {
  return Fail(Code::kInvalid, fmt::format("HTTP/2: {}", why));
}

bool HasLineEnd(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos;
}

bool HasCapital(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool HasBlankEnd(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  return !text.empty() &&
         (kBlanks.find(text.front()) != kBlanks.npos || kBlanks.find(text.back()) != kBlanks.npos);
}

// Checks what parsing lines rules out in HTTP/1.1.
Status CheckField(const Header& field) {
  if (field.name.empty() || field.name.find(':') != field.name.npos || HasLineEnd(field.name))
    return Bad("a header has no proper name");
  if (HasCapital(field.name)) return Bad("a header's name has capitals");
  if (HasLineEnd(field.value)) return Bad("a header has control characters in it");
  if (HasBlankEnd(field.value)) return Bad("a header's value begins or ends with a blank");
  for (const std::string_view each : kOfConnections) {
    if (field.name == each) return Bad(fmt::format("{} does not belong here", each));
  }
  if (field.name == "te" && field.value != "trailers") return Bad("te may say trailers only");
  return {};
}

// Takes the fields of the message itself off the front; `wanted` gets one value each.
struct Wanted {
  std::string_view name;
  const std::string* value = nullptr;
};
template <size_t kCount>
Result<size_t> TakeOwn(const H2Fields& fields, Wanted (&wanted)[kCount]) {
  size_t own = 0;
  for (; own < fields.size() && fields[own].name.starts_with(':'); ++own) {
    const Header& field = fields[own];
    const auto known = std::find_if(std::begin(wanted), std::end(wanted),
                                    [&](const Wanted& each) { return each.name == field.name; });
    if (known == std::end(wanted)) return Bad("an unknown field begins with a colon");
    if (known->value != nullptr) return Bad(fmt::format("{} is said twice", field.name));
    if (HasLineEnd(field.value)) return Bad("a header has control characters in it");
    known->value = &field.value;
  }
  return own;
}

// The others, as HTTP/1.1 would write them: so they are read by the same rules.
Result<std::string> WriteOthers(const H2Fields& fields, size_t from) {
  std::string text;
  for (size_t i = from; i < fields.size(); ++i) {
    CLOCHE_TRY(CheckField(fields[i]));
    text += fields[i].name;
    text += ": ";
    text += fields[i].value;
    text += "\r\n";
    if (text.size() > kMostHttpHead) return Bad("the head is too long");
  }
  return text + "\r\n";
}

void AddOthers(const HttpHead& head, H2Fields& fields) {
  for (const Header& header : head.headers) {
    std::string name = header.name;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (name != "host") fields.push_back({std::move(name), header.value});
  }
}

}  // namespace

Result<RequestHead> RequestFromH2(const H2Fields& fields) {
  Wanted own[] = {{":method"}, {":scheme"}, {":authority"}, {":path"}};
  ASSIGN_OR_RETURN(const size_t rest, TakeOwn(fields, own));
  const auto& [method, scheme, authority, path] = own;
  if (method.value == nullptr) return Bad(":method is missing");
  if (*method.value == "CONNECT") return Bad("CONNECT is not passed on");
  if (scheme.value == nullptr || *scheme.value != "https") return Bad(":scheme is not https");
  if (path.value == nullptr || (!path.value->starts_with('/') && *path.value != "*"))
    return Bad(":path is not a path");
  if (authority.value != nullptr && authority.value->empty()) return Bad(":authority is empty");
  ASSIGN_OR_RETURN(const std::string others, WriteOthers(fields, rest));
  ASSIGN_OR_RETURN(
      RequestHead request,
      ParseRequestHead(fmt::format("{} {} HTTP/1.1\r\n{}", *method.value, *path.value, others)));
  if (authority.value != nullptr) request.authority = *authority.value;
  request.scheme = "https";
  return request;
}

Result<ResponseHead> ResponseFromH2(const H2Fields& fields, std::string_view request_method) {
  Wanted own[] = {{":status"}};
  ASSIGN_OR_RETURN(const size_t rest, TakeOwn(fields, own));
  const std::string* status = own[0].value;
  if (status == nullptr || status->size() != 3) return Bad("the answer has no status");
  if (*status == "101") return Bad("the answer switches to another protocol");
  ASSIGN_OR_RETURN(const std::string others, WriteOthers(fields, rest));
  return ParseResponseHead(fmt::format("HTTP/1.1 {} \r\n{}", *status, others), request_method);
}

Status CheckH2Trailers(const H2Fields& fields) {
  ASSIGN_OR_RETURN(const std::string others, WriteOthers(fields, 0));
  ASSIGN_OR_RETURN(const ResponseHead read,
                   ParseResponseHead("HTTP/1.1 200 \r\n" + others, "HEAD"));
  for (const char* name : {"Content-Length", "Host"}) {
    if (read.Find(name) != nullptr) return Bad("the trailer says how long the message is");
  }
  return {};
}

Status CheckH2RequestTrailers(const H2Fields& fields) {
  for (const Header& field : fields) {
    if (BelongsInHead(field.name)) return Bad(fmt::format("{} belongs in the head", field.name));
  }
  return CheckH2Trailers(fields);
}

H2Fields H2FieldsOf(const RequestHead& request) {
  const std::string* host = request.Find("Host");
  const std::string& authority = host == nullptr ? request.authority : *host;
  H2Fields fields{{":method", request.method}, {":scheme", "https"}, {":path", request.path}};
  if (!authority.empty()) fields.insert(fields.end() - 1, {":authority", authority});
  AddOthers(request, fields);
  return fields;
}

H2Fields H2FieldsOf(const ResponseHead& response) {
  H2Fields fields{{":status", fmt::format("{:03}", response.status)}};
  AddOthers(response, fields);
  return fields;
}

}  // namespace cloche::egress
