#pragma once

#include <string>
#include <vector>

#include "probe/origin.h"

namespace cloche::probe {

// One conversation that a program inside tries to have. Each "forbidden" in it is numbered, so that
// the judge knows which one got through: nobody outside may ever read that.
struct Case {
  std::string via = "direct";  // or proxy, follow
  std::string host = "host.cloche";
  Words parts;          // after each but the last an answer is waited for
  bool control = true;  // must arrive where the control says so
};
using Cases = std::vector<Case>;

std::string Get(const std::string& path, const std::string& host);
Case Direct(std::string bytes);
// A request for `path` to `name`:`port` by CONNECT, and by SOCKS5.
Case ByConnect(const std::string& name, int port, const std::string& request);
Case BySocks(const std::string& name, int port, const std::string& request);
Case BySocksAddress(const std::string& address, int port, const std::string& request);

Cases OddNames(const Origin& origin);
Cases LocalhostSpellings(const Origin& origin);
Cases AddressSpellings(const Origin& origin);
Cases OtherHosts(const Origin& origin);
Cases Hellos(const Origin& origin);
Cases Smuggling(const Origin& origin);
Cases Paths(const Origin& origin);
Cases Methods(const Origin& origin);
Cases Tunnels(const Origin& origin);
// A decoy on its way out: in requests, each encoded in another way, and as bytes in pieces.
Cases Leaks(const Origin& origin, const std::string& decoy);
Cases LeaksInPieces(const std::string& decoy);

// A ClientHello that names `name`, if any, with `mark` in its random bytes.
std::string Hello(const std::string& name, const std::string& mark, bool encrypted = false);

}  // namespace cloche::probe
