#include "probe/origin.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "probe/dial.h"

namespace cloche::probe {

Words OwnAddresses() {
  constexpr size_t kMost = 3;
  Words addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) != 0 || (each->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text,
              sizeof text);
    if (addresses.size() < kMost) addresses.push_back(text);
  }
  freeifaddrs(list);
  return addresses;
}

Origin::Origin(const TestBed& bed)
    : addresses_(OwnAddresses()), server_(bed.Outside("believe", addresses_)) {
  if (!server_.WaitForLine(" ready\n")) return;
  sscanf(server_.TakeOutput().c_str(), "port %d ready", &port_);
}

std::vector<Origin::Visit> Origin::Heard() {
  // Connections are accepted in order: earlier visitors were heard before us.
  const std::string fence = fmt::format("fence-{}-", ++fences_);
  const int fd = Connect(ParseAddress("127.0.0.1", port_), SOCK_STREAM);
  if (fd < 0 || send(fd, fence.data(), fence.size(), MSG_NOSIGNAL) < 0) return {};
  server_.WaitForLine(fence + "\",\"id\"");
  close(fd);
  std::map<int, Visit> visits;
  std::istringstream lines(server_.TakeOutput());
  for (std::string line; std::getline(lines, line);) {
    const auto each = nlohmann::json::parse(line, nullptr, false);
    if (!each.is_object()) continue;
    Visit& visit = visits[each.value("id", 0)];
    visit.at = each.value("at", "");
    visit.said += each.value("data", "");
    visit.size += each.value("size", size_t{0});
  }
  std::vector<Visit> heard;
  for (auto& [id, visit] : visits)
    if (visit.said.find("fence-") == std::string::npos) heard.push_back(std::move(visit));
  return heard;
}

std::string Origin::HeardText() {
  std::string text;
  for (const Visit& visit : Heard()) text += fmt::format("at {}: {}\n", visit.at, visit.said);
  return text;
}

}  // namespace cloche::probe
