#include "egress/refuse.h"

#include <fmt/core.h>

namespace cloche::egress {
namespace {

constexpr int64_t kSilenceMs = 300;
constexpr int64_t kFarewellMs = 2000;
constexpr size_t kMostDrained = 1 << 20;
// Fatal, access_denied.
constexpr std::string_view kTlsAlert("\x15\x03\x03\x00\x02\x02\x31", 7);

const char* StatusText(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 502:
      return "Bad Gateway";
    default:
      return "Error";
  }
}

}  // namespace

bool LooksLikeTls(std::string_view bytes) { return bytes.starts_with('\x16'); }

bool LooksLikeHttp(std::string_view bytes) {
  if (bytes.starts_with("SSH-")) return false;
  return !bytes.empty() &&
         ((bytes[0] >= 'A' && bytes[0] <= 'Z') || (bytes[0] >= 'a' && bytes[0] <= 'z'));
}

std::string RefusalText(int status, std::string_view reason) {
  return fmt::format("{}{}\n", status == 502 ? "" : "blocked: ", reason);
}

std::string HttpRefusal(int status, std::string_view reason) {
  const std::string body = RefusalText(status, reason);
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Via: cloche-egress\r\nConnection: close\r\n\r\n{}",
      status, StatusText(status), body.size(), body);
}

Task<void> Farewell(Channel& channel, std::string_view bytes, int64_t now) {
  const int64_t deadline = now + kFarewellMs;
  const long sent = co_await channel.Write(bytes, deadline);
  if (sent < 0) co_return;
  channel.EndSending();
  // A close while something is unread would be a reset, and take our words with it.
  for (size_t drained = 0; drained < kMostDrained;) {
    channel.unread.clear();
    const long got = co_await channel.Fill(deadline);
    if (got <= 0) break;
    drained += static_cast<size_t>(got);
  }
}

Task<void> Refuse(Connection& connection, std::string_view reason) {
  Channel& client = connection.client;
  if (client.unread.empty()) {
    const int64_t deadline = connection.Deadline(kSilenceMs);
    const long got = co_await client.Fill(deadline);
    if (got <= 0) {
      client.ResetOnClose();
      co_return;
    }
  }
  co_await connection.OwnerKnown();
  const int64_t now = connection.services.loop.now();
  if (LooksLikeTls(client.unread)) {
    co_await Farewell(client, kTlsAlert, now);
  } else if (LooksLikeHttp(client.unread)) {
    const std::string page = HttpRefusal(connection.over_limit() ? 429 : 403, reason);
    co_await Farewell(client, page, now);
  } else {
    client.ResetOnClose();
  }
}

}  // namespace cloche::egress
