#include "probe/border_cases.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include "probe/border.h"

namespace cloche::probe {
namespace {

using namespace std::string_literals;

constexpr const char* kHost = "host.cloche";

std::string TwoBytes(size_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number)};
}

std::string Extension(int type, const std::string& content) {
  return TwoBytes(static_cast<size_t>(type)) + TwoBytes(content.size()) + content;
}

// The payload that follows once the proxy says yes.
std::string Payload(const Origin& origin) { return Get("/forbidden", origin.here()); }

Case BySocksBytes(const std::string& address, int port, const std::string& request) {
  return {.via = "proxy",
          .parts = {"\x05\x01\0"s, "\x05\x01\0"s + address + TwoBytes(static_cast<size_t>(port)),
                    request}};
}

std::string Base64(const std::string& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0, count = 0;
  for (const char byte : bytes + "\0\0"s) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) text += kDigits[bits >> (count - 6) & 63];
  }
  return text.substr(0, (bytes.size() * 8 + 5) / 6);
}

std::string InLines(const std::string& text, size_t width) {
  std::string lines;
  for (size_t at = 0; at < text.size(); at += width) lines += text.substr(at, width) + "\r\n";
  return lines;
}

std::string Escaped(const std::string& bytes, size_t every) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    text += i % every == 0 ? "%" + Hex(bytes.substr(i, 1)) : bytes.substr(i, 1);
  return text;
}

// A stored block of deflate, without an end: a decoy in it must be found without seeing one.
std::string Stored(const std::string& bytes) {
  const std::string size = TwoBytes(bytes.size()), other = TwoBytes(~bytes.size() & 0xffff);
  return "\0"s + size[1] + size[0] + other[1] + other[0] + bytes;
}

}  // namespace

std::string Get(const std::string& path, const std::string& host) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path, host);
}

Case Direct(std::string bytes) { return {.parts = {std::move(bytes)}}; }

Case ByConnect(const std::string& name, int port, const std::string& request) {
  return {.via = "proxy",
          .parts = {fmt::format("CONNECT {}:{} HTTP/1.1\r\n\r\n", name, port), request}};
}

Case BySocks(const std::string& name, int port, const std::string& request) {
  return BySocksBytes("\x03"s + static_cast<char>(name.size()) + name, port, request);
}

Case BySocksAddress(const std::string& address, int port, const std::string& request) {
  char bytes[16];
  const bool six = inet_pton(AF_INET6, address.c_str(), bytes) == 1;
  if (!six) inet_pton(AF_INET, address.c_str(), bytes);
  return BySocksBytes((six ? "\x04" : "\x01") + std::string(bytes, six ? 16 : 4), port, request);
}

// Each means host.cloche to a careless parser.
Cases OddNames(const Origin& origin) {
  Cases cases;
  const std::string host = kHost;
  const std::string port = std::to_string(origin.port());
  for (const std::string& name : {host + "\0"s,
                                  host + "\0.evil.test"s,
                                  host + "\r\nX: y"s,
                                  host + "\n"s,
                                  host + " "s,
                                  " "s + host,
                                  host + "\t"s,
                                  "\t"s + host,
                                  host + "%00"s,
                                  "host%2ecloche"s,
                                  host + "\xff"s,
                                  host + "\xc0\x80"s,
                                  "host\xe3\x80\x82"
                                  "cloche"s,
                                  "host\xef\xbc\x8e"
                                  "cloche"s,
                                  "user@"s + host,
                                  host + "@evil.test"s,
                                  host + "/"s,
                                  host + "?"s,
                                  host + "#"s,
                                  host + "\\"s,
                                  "["s + host + "]"s,
                                  host + ".."s,
                                  "."s + host,
                                  "host..cloche"s,
                                  host + ":"s + port,
                                  std::string(230, 'a') + "."s + host}) {
    cases.push_back(ByConnect(name, origin.port(), Payload(origin)));
    cases.push_back(BySocks(name, origin.port(), Payload(origin)));
  }
  cases.push_back(ByConnect(std::string(4000, 'a') + kHost, origin.port(), Payload(origin)));
  for (const char* authority : {"", ":", "host.cloche", "host.cloche:", "host.cloche:0",
                                "host.cloche:65536", "host.cloche:-1", "host.cloche: 80"})
    cases.push_back(
        {.via = "proxy",
         .parts = {fmt::format("CONNECT {} HTTP/1.1\r\n\r\n", authority), Payload(origin)}});
  // Two names in one request.
  cases.push_back(
      {.via = "proxy",
       .parts = {fmt::format("CONNECT host.cloche:{0} HTTP/1.1\r\nHost: evil.test:{0}\r\n\r\n",
                             origin.port()),
                 Payload(origin)}});
  return cases;
}

// For rules that name something like it.
Cases LocalhostSpellings(const Origin& origin) {
  Cases cases;
  for (const char* name : {"localhost", "LOCALHOST", "localhost."}) {
    const std::string here = fmt::format("{}:{}", name, origin.port());
    cases.push_back(ByConnect(name, origin.port(), Get("/forbidden", here)));
    cases.push_back(BySocks(name, origin.port(), Get("/forbidden", here)));
    cases.push_back(
        {.via = "proxy", .parts = {Get(fmt::format("http://{}/forbidden", here), here)}});
  }
  return cases;
}

// Of 127.0.0.1 and its kin, which an endpoint outside would reach.
Cases AddressSpellings(const Origin& origin) {
  Cases cases;
  const int port = origin.port();
  for (const char* name : {"127.0.0.1",
                           "2130706433",
                           "0x7f000001",
                           "0x7f.1",
                           "0177.0.0.1",
                           "017700000001",
                           "127.1",
                           "127.0.1",
                           "0",
                           "0.0.0.0",
                           "127.0.0.1.",
                           "[::1]",
                           "[::]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:7f00:1]",
                           "[::127.0.0.1]",
                           "[64:ff9b::7f00:1]",
                           "[2002:7f00:1::]",
                           "[::1%lo]",
                           "[fe80::1%25lo]",
                           "::1",
                           "localhost",
                           "ip6-localhost",
                           "127.0.0.1.nip.io",
                           "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1"}) {
    const std::string here = fmt::format("{}:{}", name, port);
    const bool proper = std::string_view(name) == "127.0.0.1";
    for (Case each :
         {ByConnect(name, port, Get("/forbidden", here)),
          BySocks(name, port, Get("/forbidden", here)),
          Case{.via = "proxy", .parts = {Get(fmt::format("http://{}/forbidden", here), here)}}}) {
      each.control = proper && each.parts.size() == 2;
      cases.push_back(std::move(each));
    }
  }
  for (const char* address : {"127.0.0.1", "0.0.0.0", "127.255.255.254", "::1",
                              "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"}) {
    Case each = BySocksAddress(address, port, Get("/forbidden", origin.here()));
    each.control = std::string_view(address) == "127.0.0.1";
    cases.push_back(std::move(each));
  }
  return cases;
}

// One host is granted, the request is for another: fronting.
Cases OtherHosts(const Origin& origin) {
  Cases cases;
  const std::string here = origin.here();
  const auto say = [&](const std::string& line, const std::string& headers) {
    cases.push_back(Direct(line + "\r\n" + headers + "Connection: close\r\n\r\n"));
  };
  const std::string get = "GET /forbidden HTTP/1.1", own = "Host: " + here + "\r\n";
  say(get, "Host: evil.test\r\n");
  say(get, fmt::format("Host: evil.test:{}\r\n", origin.port()));
  say(get, fmt::format("Host: host.cloche:{}\r\n", origin.port() ^ 1));
  say(get, "");
  say(get, "Host:\r\n");
  say(get, own + "Host: evil.test\r\n");
  say(get, "Host: evil.test\r\n" + own);
  say(get, own + own);
  say(get, "Host : " + here + "\r\n");
  say(get, " " + own);
  say(get, "X: y\r\n " + own);
  say(get, fmt::format("Host: {}, evil.test\r\n", here));
  say(get, fmt::format("Host: evil.test@{}\r\n", here));
  say(get, fmt::format("Host: {}/evil\r\n", here));
  say(get, "Host: " + here + "\0.evil\r\n"s);
  say("GET http://evil.test/forbidden HTTP/1.1", own);
  say(fmt::format("GET http://{}/forbidden HTTP/1.1", here), "Host: evil.test\r\n");
  say(fmt::format("GET http://evil.test@{}/forbidden HTTP/1.1", here), own);
  say("GET //evil.test/forbidden HTTP/1.1\r\nHost: evil.test", "");
  say("GET @evil.test/forbidden HTTP/1.1", own);
  say("\r\n\r\nGET /forbidden HTTP/1.1\r\nHost: evil.test", "");
  return cases;
}

std::string Hello(const std::string& name, const std::string& mark, bool encrypted) {
  std::string random = mark;
  random.resize(32, 'r');
  std::string extensions;
  if (!name.empty()) {
    const std::string entry = "\0"s + TwoBytes(name.size()) + name;
    extensions += Extension(0, TwoBytes(entry.size()) + entry);
  }
  extensions += Extension(10, "\0\x02\0\x1d"s) + Extension(43, "\x02\x03\x04"s);
  if (encrypted) extensions += Extension(0xfe0d, std::string(64, 'e'));
  const std::string body = "\x03\x03"s + random + "\0"s + "\0\x02\x13\x01"s + "\x01\0"s +
                           TwoBytes(extensions.size()) + extensions;
  const std::string message = "\x01\0"s + TwoBytes(body.size()) + body;
  return "\x16\x03\x01"s + TwoBytes(message.size()) + message;
}

// To a host that is granted for HTTPS.
Cases Hellos(const Origin& origin) {
  const std::string mark = "forbidden";
  Cases cases;
  for (const std::string& name :
       {""s, "evil.test"s, "host.cloche.evil.test"s, "xhost.cloche"s, "host.cloche\0.evil"s,
        "host.cloche@evil"s, "127.0.0.1"s, "localhost"s, "host.cloche\r\n"s})
    cases.push_back(Direct(Hello(name, mark)));
  cases.push_back(Direct(Hello(kHost, mark, true)));
  // Two names; the first is the granted one.
  const std::string first = "\0"s + TwoBytes(11) + kHost;
  const std::string both = first + "\0"s + TwoBytes(9) + "evil.test";
  const auto with_extension = [&](const std::string& extension) {
    const std::string extensions = extension + Extension(43, "\x02\x03\x04"s);
    const std::string body = "\x03\x03"s + (mark + std::string(23, 'r')) + "\0"s +
                             "\0\x02\x13\x01"s + "\x01\0"s + TwoBytes(extensions.size()) +
                             extensions;
    const std::string message = "\x01\0"s + TwoBytes(body.size()) + body;
    return "\x16\x03\x01"s + TwoBytes(message.size()) + message;
  };
  cases.push_back(Direct(with_extension(Extension(0, TwoBytes(both.size()) + both))));
  const std::string good = Extension(0, TwoBytes(first.size()) + first);
  const std::string evil = "\0"s + TwoBytes(9) + "evil.test";
  cases.push_back(Direct(with_extension(good + Extension(0, TwoBytes(evil.size()) + evil))));
  // No TLS at all, an old one, and something behind the hello.
  cases.push_back(Direct(Payload(origin)));
  cases.push_back(Direct("SSH-2.0-forbidden\r\n"));
  cases.push_back(Direct("\x80\x2e\x01\0\x02"s + mark + std::string(40, 'x')));
  cases.push_back(
      Direct("\x17\x03\x03\0\x09"
             "forbidden"s));
  cases.push_back(Direct(Hello("evil.test", mark) + Hello(kHost, "second")));
  return cases;
}

// Only GET /ok is granted: a second request hides in the first, or in how long it is.
Cases Smuggling(const Origin& origin) {
  Cases cases;
  const std::string inner = Get("/forbidden", origin.here());
  const std::string size = std::to_string(inner.size());
  const auto say = [&](const std::string& headers, const std::string& body) {
    cases.push_back(Direct(
        fmt::format("GET /ok HTTP/1.1\r\nHost: {}\r\n{}\r\n{}", origin.here(), headers, body)));
  };
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  say("", inner);  // pipelined: a request like any other, and refused like one
  say("Content-Length: 0\r\n", inner);
  say("Content-Length: 5\r\n" + chunked, "0\r\n\r\n" + inner);
  say(chunked + "Content-Length: 5\r\n", "0\r\n\r\n" + inner);
  say("Content-Length: 0\r\nContent-Length: " + size + "\r\n", inner);
  say("Content-Length: " + size + "\r\nContent-Length: 0\r\n", inner);
  say("Content-Length: 0, " + size + "\r\n", inner);
  for (const char* length : {"+0", "-0", "0x0", "00 0", " ", "0;", "1e0", "18446744073709551616"})
    say(fmt::format("Content-Length: {}\r\n", length), inner);
  for (const std::string& coding :
       {"xchunked"s, "chunked, identity"s, "identity, chunked"s, "chunked, chunked"s,
        "\x0b"
        "chunked"s,
        "\"chunked\""s, "chunked;x"s, "chunked\0"s, "gzip, chunked"s})
    say("Transfer-Encoding: " + coding + "\r\n", "0\r\n\r\n" + inner);
  say("Transfer-Encoding : chunked\r\n", "0\r\n\r\n" + inner);
  say("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n" + inner);
  say("X: y\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner);
  say(" Transfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner);
  say("Transfer_Encoding: chunked\r\nContent-Length: 0\r\n", inner);
  say(chunked + chunked, "0\r\n\r\n" + inner);
  for (const std::string& chunk :
       {"0\n\n"s, "0\r\n\n"s, "00000000000000000\r\n\r\n"s, "0x0\r\n\r\n"s, "-0\r\n\r\n"s,
        "10000000000000000\r\n\r\n"s, "0;a=\"\r\n\r\n"s, "0 \r\n\r\n"s, "1\r\nxx\r\n0\r\n\r\n"s,
        "0\r\nHost: evil\r\n\r\n"s, "0\r\n\r\n"s})
    say(chunked, chunk + inner);
  // Ends of lines that one side sees and the other does not.
  cases.push_back(Direct(fmt::format("GET /ok HTTP/1.1\nHost: {}\n\n", origin.here()) + inner));
  cases.push_back(Direct(fmt::format(
      "GET /ok HTTP/1.1\r\nHost: {}\r\nX: y\rGET /forbidden HTTP/1.1\r\n\r\n", origin.here())));
  say("X: y\n\nGET /forbidden HTTP/1.1\r\n", "");
  say("X: y\0\r\n\r\nGET /forbidden HTTP/1.1\r\n"s, "");
  say("Expect: 100-continue\r\nContent-Length: 0\r\n", inner);
  cases.push_back(Direct(fmt::format("GET /ok HTTP/1.0\r\nHost: {}\r\n", origin.here()) +
                         "Connection: keep-alive\r\n\r\n" + inner));
  cases.push_back(Direct("GET /ok HTTP/1.1 GET /forbidden\r\n\r\n"));
  cases.push_back(Direct("GET /ok\r\n" + inner));  // HTTP/0.9
  return cases;
}

// Only /ok is granted. These are paths that a server may read as /forbidden.
Cases Paths(const Origin& origin) {
  Cases cases;
  for (const char* path : {"/forbidden",
                           "/ok/../forbidden",
                           "/ok/./../forbidden",
                           "/ok/%2e%2e/forbidden",
                           "/ok/.%2e/forbidden",
                           "/ok/%2E./forbidden",
                           "/ok/..%2fforbidden",
                           "/ok%2f..%2fforbidden",
                           "/ok/%252e%252e/forbidden",
                           "/ok/..;/forbidden",
                           "/ok/..\\forbidden",
                           "/ok\\..\\forbidden",
                           "/ok/%5c..%5cforbidden",
                           "//forbidden",
                           "/ok//../forbidden",
                           "/okforbidden",
                           "/OK/forbidden",
                           "/ok/%c0%ae%c0%ae/forbidden",
                           "/ok/%u002e%u002e/forbidden",
                           "/ok/..%00/forbidden",
                           "/./forbidden",
                           "/ok;/../forbidden",
                           "/%6fk/../forbidden",
                           "ok/forbidden",
                           "*",
                           "/ok/%2e%2e%2fforbidden",
                           "/ok/..%c0%afforbidden",
                           "/ok/%zz/../forbidden"})
    cases.push_back(Direct(
        fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nX-Mark: forbidden\r\nConnection: close\r\n\r\n",
                    path, origin.here())));
  for (const char* header : {"X-Original-URL", "X-Rewrite-URL", "x_original_url", "X-ORIGINAL-URL"})
    cases.push_back(Direct(
        fmt::format("GET /ok HTTP/1.1\r\nHost: {}\r\n{}: /forbidden\r\nConnection: close\r\n\r\n",
                    origin.here(), header)));
  return cases;
}

// Only GET is granted.
Cases Methods(const Origin& origin) {
  Cases cases;
  for (const char* method :
       {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PROPFIND", "get",
        "Get", "GETX", "QUERY", "\"GET\"", "GET,POST"})
    cases.push_back(
        Direct(fmt::format("{} /forbidden HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: "
                           "close\r\n\r\n",
                           method, origin.here())));
  for (const char* header : {"X-HTTP-Method-Override: DELETE", "X-HTTP-Method: PUT",
                             "X-Method-Override: POST", "x_http_method_override: DELETE"})
    cases.push_back(
        Direct(fmt::format("GET /forbidden HTTP/1.1\r\nHost: {}\r\n{}\r\nConnection: close\r\n\r\n",
                           origin.here(), header)));
  return cases;
}

// Only GET /ok is granted: a connection that turns into one that nobody inspects.
Cases Tunnels(const Origin& origin) {
  Cases cases;
  const auto say = [&](const std::string& headers) {
    cases.push_back(
        {.parts = {fmt::format("GET /ok HTTP/1.1\r\nHost: {}\r\n{}\r\n", origin.here(), headers),
                   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nforbidden"}});
  };
  say("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n");
  say("Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n");
  say("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\nSec-WebSocket-Version: 13\r\n");
  // The server said 200 and not 101: there is no tunnel, whatever was asked for.
  say("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
  cases.push_back(Direct("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nforbidden"));
  cases.push_back(Direct(
      fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\nX: forbidden\r\n\r\n", origin.here())));
  // A proxy asked through a proxy.
  cases.push_back(ByConnect(kHost, origin.port(),
                            "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n"
                            "X: forbidden\r\n\r\n"));
  cases.push_back(ByConnect(kHost, origin.port(), Get("http://evil.test/forbidden", "evil.test")));
  cases.push_back(ByConnect(kHost, origin.port(), Hello(kHost, "forbidden")));
  cases.push_back(BySocks(kHost, origin.port(), "\x05\x01\0forbidden"s));
  return cases;
}

Cases Leaks(const Origin& origin, const std::string& decoy) {
  Cases cases;
  const auto post = [&](const std::string& headers, const std::string& body) {
    cases.push_back(
        Direct(fmt::format("POST /forbidden HTTP/1.1\r\nHost: {}\r\n{}Connection: "
                           "close\r\n\r\n{}",
                           origin.here(), headers, body)));
  };
  const auto say = [&](const std::string& body) {
    post(fmt::format("Content-Length: {}\r\n", body.size()), body);
  };
  say(decoy);
  for (const char* before : {"", "u", "u:"}) say(Base64(before + decoy + " and more"));
  say(InLines(Base64(decoy), 19));
  say(Hex(decoy));
  say(InLines(Hex(decoy), 7));
  say(Escaped(decoy, 1));
  say(Escaped(Base64(decoy), 3));
  say("file=\x1f\x8b\x08\0\0\0\0\0\0\x03"s + Stored(decoy));
  say("\x78\x9c" + Stored(Base64(decoy)));
  post(fmt::format("Content-Encoding: deflate\r\nContent-Length: {}\r\n", decoy.size() + 5),
       Stored(decoy));
  std::string chunks;
  for (size_t i = 0; i < decoy.size(); i += 5) {
    const std::string part = decoy.substr(i, 5);
    chunks += fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  }
  post("Transfer-Encoding: chunked\r\n", chunks + "0\r\n\r\n");
  post("X-Key: " + decoy + "\r\nContent-Length: 0\r\n", "");
  post("Authorization: Basic " + Base64("user:" + decoy) + "\r\nContent-Length: 0\r\n", "");
  cases.push_back(Direct(Get("/forbidden?" + Escaped(decoy, 2), origin.here())));
  cases.push_back(ByConnect(kHost, origin.port(), Get("/forbidden?" + Hex(decoy), origin.here())));
  cases.push_back(BySocks(kHost, origin.port(), Get("/forbidden?" + Hex(decoy), origin.here())));
  cases.push_back({.via = "proxy",
                   .parts = {Get(fmt::format("http://{}/forbidden?{}", origin.here(), Hex(decoy)),
                                 origin.here())}});
  return cases;
}

// Bytes behind the decoy must not arrive.
Cases LeaksInPieces(const std::string& decoy) {
  Cases cases;
  for (const std::string& said : {decoy, Base64(decoy), Hex(decoy)}) {
    Case each{.parts = {}};
    for (size_t at = 0; at < said.size(); at += 9) each.parts.push_back(said.substr(at, 9));
    each.parts.push_back("forbidden");
    cases.push_back(std::move(each));
  }
  return cases;
}

}  // namespace cloche::probe
