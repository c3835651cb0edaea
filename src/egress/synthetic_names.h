#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.h"

namespace cloche::egress {

// The addresses a sandbox's resolver tells for names: from ranges that lead nowhere, one for each
// name as long as the sandbox lives, and the same after a restart. So a connection says by its
// address which name was meant.
class SyntheticNames {
 public:
  static constexpr uint32_t kMost = 65536;

  SyntheticNames() = default;
  explicit SyntheticNames(std::string sandbox) : sandbox_(std::move(sandbox)) {}

  // nullopt when the sandbox has asked for too many.
  std::optional<IpAddress> AddressOf(const std::string& name, bool six);
  // nullptr: nobody was told this address.
  const std::string* NameAt(const IpAddress& address) const;
  static bool IsSynthetic(const IpAddress& address);

 private:
  std::string sandbox_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::map<uint32_t, std::string> names_;
};

}  // namespace cloche::egress
