#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::egress {

inline constexpr size_t kMostHttpHead = 64 << 10;

// How far the head of a message reaches: through its empty line.
enum class HeadEnd : uint8_t { kMore, kFound, kBad };
// `from` is where to look on; it is moved, so that a head that comes byte by byte is read once.
HeadEnd FindHeadEnd(std::string_view bytes, size_t& from);

struct Header {
  std::string name;  // as it came
  std::string value;
};

enum class Framing : uint8_t { kNone, kLength, kChunked, kUntilClose };

struct HttpHead {
  int minor = 1;  // HTTP/1.minor
  std::vector<Header> headers;
  Framing framing = Framing::kNone;
  uint64_t length = 0;      // of kLength
  bool keep_alive = false;  // as it says itself; another message may follow

  const std::string* Find(std::string_view name) const;  // the first one
  size_t Count(std::string_view name) const;
  bool Lists(std::string_view name, std::string_view token) const;  // Connection: a, b
  void Remove(std::string_view name);
};

struct RequestHead : HttpHead {
  std::string method;
  std::string target;  // as it came
  // Of the target: absolute form (http://host/x) and CONNECT bring an authority.
  std::string scheme;     // "", "http" or "https"
  std::string authority;  // "" in origin form
  std::string path;       // with its query; "*" of OPTIONS; empty of CONNECT

  std::string_view PathWithoutQuery() const;
};

struct ResponseHead : HttpHead {
  int status = 0;
  std::string reason;
};

// `head` is everything through the empty line. Anything that two readers could take for two
// different messages is refused: see http_head_test.cc.
Result<RequestHead> ParseRequestHead(std::string_view head);
Result<ResponseHead> ParseResponseHead(std::string_view head, std::string_view request_method);

std::string WriteRequestHead(const RequestHead& head);  // in origin form
std::string WriteResponseHead(const ResponseHead& head);

bool SameText(std::string_view a, std::string_view b);  // but for capitals

// Fields of a request that say where it goes, what is asked, who asks, or how to read it. In a
// trailer they would come after everything was decided, and some servers add trailers to the head.
bool BelongsInHead(std::string_view name);

}  // namespace cloche::egress
