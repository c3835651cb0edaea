#include "egress/http_head.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"

namespace cloche::egress {
namespace {

constexpr size_t kMostHeaders = 256;

std::unexpected<Error> Bad(std::string_view why) {
  return Fail(Code::kInvalid, fmt::format("HTTP: {}", why));
}

bool IsTokenByte(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != kOthers.npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenByte);
}

bool IsValueByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

// One line off the front; the text has been searched for bare CR and LF before.
std::string_view TakeLine(std::string_view& rest) {
  const size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

bool LinesAreWhole(std::string_view head) {
  if (!head.ends_with("\r\n\r\n")) return false;
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') return false;
    if (head[i] == '\n' && (i == 0 || head[i - 1] != '\r')) return false;
    if (head[i] == '\r' && (i + 1 == head.size() || head[i + 1] != '\n')) return false;
  }
  return head.find("\r\n\r\n") == head.size() - 4;
}

Status ReadHeaders(std::string_view rest, HttpHead& head) {
  while (rest != "\r\n") {
    const std::string_view line = TakeLine(rest);
    const size_t colon = line.find(':');
    // A line that begins with a blank continues the one before (obs-fold); a blank before the colon
    // hides a name from some readers. Neither is a token.
    if (colon == line.npos || !IsToken(line.substr(0, colon)))
      return Bad("a header line has no proper name");
    const std::string_view value = Trim(line.substr(colon + 1), " \t");
    if (!std::all_of(value.begin(), value.end(), IsValueByte))
      return Bad("a header has control characters in it");
    if (head.headers.size() == kMostHeaders) return Bad("there are too many headers");
    head.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  }
  return {};
}

Status ReadVersion(std::string_view version, HttpHead& head) {
  if (version == "HTTP/1.1") {
    head.minor = 1;
  } else if (version == "HTTP/1.0") {
    head.minor = 0;
  } else {
    return Bad("only HTTP/1.0 and HTTP/1.1 are spoken here");
  }
  return {};
}

// Content-Length once and as digits, or Transfer-Encoding once and as "chunked"; never both.
Status ReadFraming(HttpHead& head) {
  const size_t lengths = head.Count("Content-Length");
  const size_t encodings = head.Count("Transfer-Encoding");
  if (lengths > 1) return Bad("Content-Length is said twice");
  if (encodings > 1) return Bad("Transfer-Encoding is said twice");
  if (lengths == 1 && encodings == 1)
    return Bad("Content-Length and Transfer-Encoding exclude each other");
  if (encodings == 1) {
    if (head.minor == 0 || !SameText(*head.Find("Transfer-Encoding"), "chunked"))
      return Bad("the only Transfer-Encoding is chunked, in HTTP/1.1");
    head.framing = Framing::kChunked;
  }
  if (lengths == 1) {
    const std::string& text = *head.Find("Content-Length");
    const bool digits =
        !text.empty() && text.size() <= 18 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return Bad("Content-Length is not a number");
    for (const char c : text) head.length = head.length * 10 + static_cast<uint64_t>(c - '0');
    head.framing = head.length == 0 ? Framing::kNone : Framing::kLength;
  }
  head.keep_alive =
      head.minor == 1 ? !head.Lists("Connection", "close") : head.Lists("Connection", "keep-alive");
  return {};
}

// Refuses headers that one server could leave out, or read as framing, and the next could not.
Status ReadHops(RequestHead& head) {
  constexpr std::string_view kHops[] = {"close", "keep-alive",     "upgrade",
                                        "te",    "http2-settings", "proxy-connection"};
  for (const Header& header : head.headers) {
    std::string plain = header.name;  // many servers read _ as -
    std::replace(plain.begin(), plain.end(), '_', '-');
    if (plain != header.name &&
        (SameText(plain, "Content-Length") || SameText(plain, "Transfer-Encoding")))
      return Bad("the length of the body is said in another spelling");
  }
  if (const size_t expects = head.Count("Expect");
      expects > 1 || (expects == 1 && !SameText(*head.Find("Expect"), "100-continue")))
    return Bad("Expect is 100-continue or nothing");
  std::string kept;
  for (size_t i = 0; i < head.headers.size(); ++i) {
    if (!SameText(head.headers[i].name, "Connection")) continue;
    const std::string value = head.headers[i].value;
    for (size_t at = 0; at <= value.size();) {
      const size_t end = std::min(value.find(',', at), value.size());
      const std::string token(Trim(std::string_view(value).substr(at, end - at), " \t"));
      at = end + 1;
      const bool known = std::any_of(std::begin(kHops), std::end(kHops),
                                     [&](std::string_view hop) { return SameText(hop, token); });
      if (token.empty()) continue;
      if (known) {
        kept += (kept.empty() ? "" : ", ") + token;
      } else if (BelongsInHead(token)) {
        return Bad("Connection lists a header that is not for the next server alone");
      }
    }
  }
  if (head.Count("Connection") > 0) {
    head.Remove("Connection");
    if (!kept.empty()) head.headers.push_back({"Connection", kept});
  }
  return {};
}

Status ReadTarget(RequestHead& head) {
  const std::string& target = head.target;
  const bool visible = std::all_of(target.begin(), target.end(),
                                   [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
  if (target.empty() || !visible) return Bad("the request target has characters it must not have");
  if (head.method == "CONNECT") {
    head.authority = target;
  } else if (target[0] == '/' || (target == "*" && head.method == "OPTIONS")) {
    head.path = target;
  } else {
    const size_t colon = target.find("://");
    if (colon == target.npos) return Bad("the request target is neither a path nor a URL");
    for (const char c : target.substr(0, colon)) head.scheme += Lower(c);
    if (head.scheme != "http" && head.scheme != "https")
      return Bad("the request target is neither http nor https");
    const size_t start = colon + 3;
    const size_t end = std::min(target.find_first_of("/?", start), target.size());
    head.authority = target.substr(start, end - start);
    if (head.authority.empty()) return Bad("the request target has no host");
    head.path = target.substr(end);
    if (!head.path.starts_with('/')) head.path.insert(0, "/");
  }
  return {};
}

void WriteHeaders(const HttpHead& head, std::string& out) {
  for (const Header& header : head.headers) {
    out += header.name;
    out += ": ";
    out += header.value;
    out += "\r\n";
  }
  out += "\r\n";
}

}  // namespace

bool SameText(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

HeadEnd FindHeadEnd(std::string_view bytes, size_t& from) {
  if (!bytes.empty() && !IsTokenByte(bytes[0])) return HeadEnd::kBad;
  const size_t end = bytes.find("\r\n\r\n", from < 3 ? 0 : from - 3);
  const size_t until = end == bytes.npos ? bytes.size() : end + 4;
  for (size_t i = from; i < until; ++i) {
    if (bytes[i] == '\0' || (bytes[i] == '\n' && bytes[i - 1] != '\r')) return HeadEnd::kBad;
  }
  from = until;
  if (until > kMostHttpHead) return HeadEnd::kBad;
  return end == bytes.npos ? HeadEnd::kMore : HeadEnd::kFound;
}

const std::string* HttpHead::Find(std::string_view name) const {
  for (const Header& header : headers) {
    if (SameText(header.name, name)) return &header.value;
  }
  return nullptr;
}

size_t HttpHead::Count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(headers.begin(), headers.end(), [&](const Header& each) {
    return SameText(each.name, name);
  }));
}

bool HttpHead::Lists(std::string_view name, std::string_view token) const {
  for (const Header& header : headers) {
    if (!SameText(header.name, name)) continue;
    std::string_view rest = header.value;
    while (true) {
      const size_t comma = rest.find(',');
      if (SameText(Trim(rest.substr(0, comma), " \t"), token)) return true;
      if (comma == rest.npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

void HttpHead::Remove(std::string_view name) {
  std::erase_if(headers, [&](const Header& header) { return SameText(header.name, name); });
}

std::string_view RequestHead::PathWithoutQuery() const {
  return std::string_view(path).substr(0, path.find('?'));
}

Result<RequestHead> ParseRequestHead(std::string_view head) {
  if (!LinesAreWhole(head)) return Bad("lines must end with CR LF");
  RequestHead request;
  std::string_view rest = head;
  const std::string_view line = TakeLine(rest);
  const size_t first = line.find(' ');
  const size_t second = first == line.npos ? first : line.find(' ', first + 1);
  if (second == line.npos || line.find(' ', second + 1) != line.npos)
    return Bad("the request line is not METHOD TARGET VERSION");
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  if (!IsToken(request.method) || request.method.size() > 32)
    return Bad("the request line has no proper method");
  CLOCHE_TRY(ReadVersion(line.substr(second + 1), request));
  CLOCHE_TRY(ReadTarget(request));
  CLOCHE_TRY(ReadHeaders(rest, request));
  CLOCHE_TRY(ReadFraming(request));
  CLOCHE_TRY(ReadHops(request));
  if (request.Count("Host") > 1) return Bad("Host is said twice");
  if (request.method == "CONNECT" && request.framing != Framing::kNone)
    return Bad("CONNECT has no body");
  return request;
}

Result<ResponseHead> ParseResponseHead(std::string_view head, std::string_view request_method) {
  if (!LinesAreWhole(head)) return Bad("lines must end with CR LF");
  ResponseHead response;
  std::string_view rest = head;
  const std::string_view line = TakeLine(rest);
  if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' '))
    return Bad("the status line is none");
  CLOCHE_TRY(ReadVersion(line.substr(0, 8), response));
  for (const char c : line.substr(9, 3)) {
    if (c < '0' || c > '9') return Bad("the status line is none");
    response.status = response.status * 10 + (c - '0');
  }
  if (response.status < 100 || response.status > 599) return Bad("the status is unknown");
  if (line.size() > 13) response.reason = line.substr(13);
  if (!std::all_of(response.reason.begin(), response.reason.end(), IsValueByte))
    return Bad("the status line has control characters in it");
  CLOCHE_TRY(ReadHeaders(rest, response));
  CLOCHE_TRY(ReadFraming(response));
  const bool bodiless = response.status < 200 || response.status == 204 || response.status == 304 ||
                        request_method == "HEAD";
  if (bodiless) {
    response.framing = Framing::kNone;
    response.length = 0;
  } else if (response.framing == Framing::kNone && response.Count("Content-Length") == 0) {
    response.framing = Framing::kUntilClose;
    response.keep_alive = false;
  }
  return response;
}

bool BelongsInHead(std::string_view name) {
  constexpr std::string_view kNames[] = {"Accept-Encoding",
                                         "Authorization",
                                         "Connection",
                                         "Content-Encoding",
                                         "Content-Length",
                                         "Content-Range",
                                         "Content-Type",
                                         "Cookie",
                                         "Expect",
                                         "Forwarded",
                                         "Host",
                                         "HTTP2-Settings",
                                         "Keep-Alive",
                                         "Max-Forwards",
                                         "Range",
                                         "Request-Range",
                                         "TE",
                                         "Trailer",
                                         "Transfer-Encoding",
                                         "Upgrade",
                                         "X-Host",
                                         "X-HTTP-Method",
                                         "X-Method",
                                         "X-Method-Override",
                                         "X-Override-URL"};
  constexpr std::string_view kBeginnings[] = {"If-",          "Proxy-",         "X-Envoy-Original-",
                                              "X-Forwarded-", "X-HTTP-Method-", "X-HTTP-Verb",
                                              "X-HTTP-Host-", "X-Original-",    "X-Rewrite-"};
  std::string plain(name);  // many servers read _ as -
  std::replace(plain.begin(), plain.end(), '_', '-');
  const auto is = [&](std::string_view each) { return SameText(plain, each); };
  const auto begins = [&](std::string_view each) {
    return SameText(std::string_view(plain).substr(0, each.size()), each);
  };
  return std::any_of(std::begin(kNames), std::end(kNames), is) ||
         std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins);
}

std::string WriteRequestHead(const RequestHead& head) {
  std::string out = fmt::format("{} {} HTTP/1.{}\r\n", head.method, head.path, head.minor);
  WriteHeaders(head, out);
  return out;
}

std::string WriteResponseHead(const ResponseHead& head) {
  std::string out = fmt::format("HTTP/1.{} {:03} {}\r\n", head.minor, head.status, head.reason);
  WriteHeaders(head, out);
  return out;
}

}  // namespace cloche::egress
