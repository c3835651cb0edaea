#include "egress/http_message.h"

#include <fmt/core.h>

#include <algorithm>

#include "egress/http_body.h"
#include "egress/relay.h"

namespace cloche::egress {
namespace {

constexpr int kPiecesAtOnce = 16;

Task<bool> PassChunked(Connection& connection, Channel& from, Channel& to) {
  const bool up = &from == &connection.client;
  ChunkedBody body(up);
  Yield yield{connection.services.loop};
  for (int pieces = 1; !body.done(); ++pieces) {
    if (pieces % kPiecesAtOnce == 0) co_await yield;
    if (from.unread.empty()) {
      const int64_t deadline = connection.IdleDeadline();
      const long got = co_await from.Fill(deadline);
      if (got <= 0) co_return false;
    }
    const size_t used = body.Feed(from.unread);
    if (body.bad()) {
      connection.Cut(body.why());
      co_return false;
    }
    const std::string_view bytes = std::string_view(from.unread).substr(0, used);
    if (!connection.Count(up, used)) co_return false;
    const int64_t deadline = connection.Deadline(kWritePatienceMs);
    const long sent = co_await to.Write(bytes, deadline);
    if (sent < 0) co_return false;
    from.unread.erase(0, used);
    if (const uint64_t left = body.content_left(); left > 0) {
      const bool passed = co_await Pass(connection, from, to, left);
      if (!passed) co_return false;
      body.Skip(left);
    }
  }
  co_return true;
}

bool IsDeflated(const HttpHead& head) {
  return head.Lists("Content-Encoding", "deflate") || head.Lists("Transfer-Encoding", "deflate");
}

// A body whose content has to be looked at apart from its frames. The bytes pass as they are.
Task<bool> PassLookedAt(Connection& connection, Channel& from, Channel& to, const HttpHead& head,
                        std::string start) {
  CanaryScanner content = connection.watch->NewMessage();
  if (IsDeflated(head)) content.ExpectRawDeflate();
  const bool chunked = head.framing == Framing::kChunked;
  uint64_t left = chunked ? UINT64_MAX : head.length;
  ChunkedBody chunks(true);
  Yield yield{connection.services.loop};
  // The head waits for the first piece: what is found in that need not be half a request.
  for (int pieces = 1; left > 0 && !chunks.done(); ++pieces) {
    if (pieces % kPiecesAtOnce == 0) co_await yield;
    if (from.unread.empty() && start.empty()) {
      const int64_t idle = connection.IdleDeadline();
      const long got = co_await from.Fill(idle);
      if (got <= 0) co_return false;
    }
    size_t used = static_cast<size_t>(std::min<uint64_t>(left, from.unread.size()));
    std::string said = from.unread.substr(0, used);
    if (chunked) {
      said.clear();
      used = chunks.Feed(from.unread, &said);
      if (chunks.bad()) {
        connection.Cut(chunks.why());
        co_return false;
      }
    } else {
      left -= used;
    }
    const bool betrays = co_await connection.Betrays(content, said);
    if (betrays) co_return false;
    start.append(from.unread, 0, used);
    from.unread.erase(0, used);
    if (!connection.Count(true, start.size())) co_return false;
    const int64_t deadline = connection.Deadline(kWritePatienceMs);
    const long sent = co_await to.Write(start, deadline);
    if (sent < 0) co_return false;
    start.clear();
  }
  co_return true;
}

// Content on its way through the redactor, in chunks of ours or as it is.
struct Redacted {
  Channel& to;
  Redactor& redactor;
  bool chunked = false;
};

Task<bool> WriteContent(Connection& connection, Redacted& redacted, std::string content,
                        bool last) {
  std::string out;
  if (!redacted.chunked) {
    out = std::move(content);
  } else {
    if (!content.empty()) out = fmt::format("{:x}\r\n{}\r\n", content.size(), content);
    if (last) out += "0\r\n\r\n";
  }
  if (!connection.Count(false, out.size())) co_return false;
  const int64_t deadline = connection.Deadline(kWritePatienceMs);
  const long sent = co_await redacted.to.Write(out, deadline);
  co_return sent == 0;
}

}  // namespace

Task<bool> PassMessage(Connection& connection, Channel& from, Channel& to, const HttpHead& head,
                       std::string start) {
  const bool up = &from == &connection.client;
  if (up && connection.watch != nullptr &&
      (head.framing == Framing::kChunked ||
       (head.framing == Framing::kLength && head.length > 0 && IsDeflated(head)))) {
    const bool whole = co_await PassLookedAt(connection, from, to, head, std::move(start));
    co_return whole;
  }
  uint64_t left = head.framing == Framing::kLength ? head.length : 0;
  if (left > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(left, from.unread.size()));
    start.append(from.unread, 0, part);
    from.unread.erase(0, part);
    left -= part;
  }
  if (!connection.Count(up, start.size())) co_return false;
  const int64_t deadline = connection.Deadline(kWritePatienceMs);
  const long sent = co_await to.Write(start, deadline);
  if (sent < 0) co_return false;
  bool passed = true;
  if (head.framing == Framing::kChunked) {
    passed = co_await PassChunked(connection, from, to);
  } else if (head.framing == Framing::kUntilClose) {
    passed = co_await Pass(connection, from, to, UINT64_MAX);
  } else if (left > 0) {
    passed = co_await Pass(connection, from, to, left);
  }
  co_return passed;
}

Task<bool> PassRedacted(Connection& connection, Channel& from, Channel& to, const HttpHead& head,
                        std::string start, Redactor& redactor) {
  Redacted redacted{to, redactor, head.framing == Framing::kChunked};
  if (!connection.Count(false, start.size())) co_return false;
  const int64_t deadline = connection.Deadline(kWritePatienceMs);
  const long sent = co_await to.Write(start, deadline);
  if (sent < 0) co_return false;
  if (head.framing == Framing::kNone) co_return true;
  uint64_t left = head.framing == Framing::kLength ? head.length : UINT64_MAX;
  ChunkedBody chunks;
  Yield yield{connection.services.loop};
  for (int pieces = 1; left > 0 && !chunks.done(); ++pieces) {
    if (pieces % kPiecesAtOnce == 0) co_await yield;
    if (from.unread.empty()) {
      const int64_t idle = connection.IdleDeadline();
      const long got = co_await from.Fill(idle);
      if (got == 0 && head.framing == Framing::kUntilClose) break;
      if (got <= 0) co_return false;
    }
    std::string content;
    size_t used = from.unread.size();
    if (redacted.chunked) {
      used = chunks.Feed(from.unread, &content);
      if (chunks.bad()) co_return false;
    } else {
      used = static_cast<size_t>(std::min<uint64_t>(left, used));
      content = from.unread.substr(0, used);
      if (left != UINT64_MAX) left -= used;
    }
    from.unread.erase(0, used);
    std::string sure = redactor.Feed(content);
    const bool passed = co_await WriteContent(connection, redacted, std::move(sure), false);
    if (!passed) co_return false;
  }
  std::string end = redactor.End();
  const bool passed = co_await WriteContent(connection, redacted, std::move(end), true);
  co_return passed;
}

Task<int> ReadBody(Connection& connection, Channel& from, const HttpHead& head, size_t most,
                   std::string& body) {
  if (head.framing == Framing::kLength && head.length > most) co_return 0;
  ChunkedBody chunks(true);
  while (true) {
    if (head.framing == Framing::kLength && from.unread.size() >= head.length) {
      const auto size = static_cast<size_t>(head.length);
      body = from.unread.substr(0, size);
      from.unread.erase(0, size);
      co_return 1;
    }
    if (head.framing == Framing::kChunked) {
      const size_t used = chunks.Feed(from.unread, &body);
      from.unread.erase(0, used);
      if (chunks.done()) co_return 1;
      if (chunks.bad()) co_return -1;
      if (body.size() > most) co_return 0;
    }
    const int64_t deadline = connection.Deadline(kWritePatienceMs);
    const long got = co_await from.Fill(deadline);
    if (got <= 0) co_return -1;
  }
}

}  // namespace cloche::egress
